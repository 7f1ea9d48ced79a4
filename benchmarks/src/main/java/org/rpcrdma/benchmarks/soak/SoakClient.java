// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.soak;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.concurrent.Future;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.rpcrdma.benchmarks.Nfs3Messages;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.CallTimeoutException;
import org.rpcrdma.codec.ConnectionLostException;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.rpc.CallOptions;

/** A client with a few calls out at all times, each of which it checks. */
final class SoakClient {

    private static final int SHORTEST = 512;
    private static final int LONG = 1 << 20;

    private final int index;
    private final RdmaEventLoopGroup group;
    private final RpcRdmaClient client;
    private final CallOptions options;
    private final long slackMillis;
    private final long pauseMillis;
    private final Ledger ledger;
    private final SoakTally tally;
    private final AtomicLong sequence = new AtomicLong();
    private final AtomicLong answered = new AtomicLong();
    private final AtomicInteger working = new AtomicInteger();
    private volatile boolean isStopped;

    SoakClient(
            int index,
            RdmaEventLoopGroup group,
            InetSocketAddress server,
            long timeoutMillis,
            long slackMillis,
            long pauseMillis,
            Ledger ledger,
            SoakTally tally) {
        this.index = index;
        this.group = group;
        this.options = CallOptions.DEFAULT.withTimeout(Duration.ofMillis(timeoutMillis));
        this.slackMillis = slackMillis;
        this.pauseMillis = pauseMillis;
        this.ledger = ledger;
        this.tally = tally;
        client = RpcRdmaClient.builder(group, server).build();
    }

    /** Begins with so many calls at a time. */
    void start(int calls, long seed) {
        for (int i = 0; i < calls; i++) {
            working.incrementAndGet();
            next(new Random(seed * calls + i));
        }
    }

    /** No further calls begin. */
    void stop() {
        isStopped = true;
    }

    /** Whether no call is under way. */
    boolean isIdle() {
        return working.get() == 0 && client.outstandingCalls() == 0;
    }

    long answered() {
        return answered.get();
    }

    Future<Void> close() {
        return client.closeAsync();
    }

    private void next(Random random) {
        if (isStopped) {
            working.decrementAndGet();
            return;
        }
        long number = SoakCalls.number(index, sequence.incrementAndGet());
        int bytes = SHORTEST << random.nextInt(8);
        switch (random.nextInt(20)) {
            case 0, 1, 2, 3, 4, 5, 6 -> call(SoakCalls.nothing(), number, 0, random);
            case 7, 8, 9, 10, 11 -> call(SoakCalls.read(number, bytes), number, bytes, random);
            case 12, 13, 14, 15, 16 -> call(SoakCalls.write(number, bytes), number, 0, random);
            case 17 -> call(SoakCalls.write(number, LONG), number, 0, random);
            case 18 -> call(SoakCalls.read(number, LONG), number, LONG, random);
            default -> place(number, random);
        }
    }

    private void call(ByteBuf call, long number, int bytes, Random random) {
        long start = System.nanoTime();
        boolean isWrite =
                call.getInt(Nfs3Messages.PROCEDURE_OFFSET) == Nfs3Messages.PROCEDURE_WRITE;
        int length = call.readableBytes();
        client.call(call, options)
                .addListener(
                        (Future<ByteBuf> future) -> {
                            if (ended(future, start)) {
                                ByteBuf reply = future.getNow();
                                check(reply, number, bytes, isWrite);
                                reply.release();
                                tally.bytes.add(isWrite ? length : bytes);
                            }
                            pause(random);
                        });
    }

    private void check(ByteBuf reply, long number, int bytes, boolean isWrite) {
        int expected =
                isWrite
                        ? Nfs3Messages.WRITE_REPLY_LENGTH
                        : bytes == 0
                                ? Nfs3Messages.NULL_REPLY_LENGTH
                                : Nfs3Messages.READ_REPLY_OVERHEAD + bytes;
        if (reply.readableBytes() != expected) {
            tally.violation(
                    "a reply of " + reply.readableBytes() + " bytes (expected " + expected + ")");
        } else if (isWrite && !ledger.isExecuted(number)) {
            tally.violation("a WRITE was acknowledged and not executed");
        } else if (!Pattern.is(
                reply, reply.readerIndex() + Nfs3Messages.READ_REPLY_OVERHEAD, number, bytes)) {
            tally.violation("the data of a READ of " + bytes + " bytes");
        }
    }

    /** A READ into memory of this client. */
    private void place(long number, Random random) {
        long start = System.nanoTime();
        ByteBuf memory = ByteBufAllocator.DEFAULT.directBuffer(LONG, LONG);
        RpcMessage call =
                new RpcMessage(SoakCalls.read(number, LONG)).addSink(memory.retainedDuplicate());
        client.call(call, options)
                .addListener(
                        (Future<RpcMessage> future) -> {
                            if (ended(future, start)) {
                                RpcMessage reply = future.getNow();
                                if (reply.sinkLength(0) != LONG
                                        || !Pattern.is(memory, 0, number, LONG)) {
                                    tally.violation("the data of a READ into a sink");
                                }
                                reply.release();
                                tally.bytes.add(LONG);
                            }
                            memory.release();
                            pause(random);
                        });
    }

    /** Counts a call that is over; returns whether it has a reply. */
    private boolean ended(Future<?> call, long start) {
        long nanos = System.nanoTime() - start;
        tally.took(nanos);
        if (TimeUnit.NANOSECONDS.toMillis(nanos) > options.timeout().toMillis() + slackMillis) {
            tally.violation("a call took " + TimeUnit.NANOSECONDS.toMillis(nanos) + " ms");
        }
        if (call.isSuccess()) {
            tally.answered.increment();
            answered.incrementAndGet();
            return true;
        }
        if (call.cause() instanceof CallTimeoutException) {
            tally.timedOut.increment();
        } else if (call.cause() instanceof ConnectionLostException) {
            tally.lost.increment();
        } else {
            tally.violation("a call failed: " + call.cause());
        }
        return false;
    }

    private void pause(Random random) {
        long millis = random.nextInt((int) (2 * pauseMillis + 1));
        group.schedule(() -> next(random), millis, TimeUnit.MILLISECONDS);
    }
}
