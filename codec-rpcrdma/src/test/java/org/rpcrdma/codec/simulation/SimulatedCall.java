// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.util.ReferenceCounted;
import io.netty.util.concurrent.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.codec.CallTimeoutException;
import org.rpcrdma.codec.ConnectionLostException;
import org.rpcrdma.codec.ErrChunkReplyException;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.codec.RpcRdmaException;
import org.rpcrdma.codec.client.RpcRdmaReverseRequester;
import org.rpcrdma.codec.fault.UserMemory;
import org.rpcrdma.codec.rpc.CallOptions;

/** A call, what it has to be answered with, and what it has lent. */
final class SimulatedCall {

    /** How long behind its deadline a call may end. */
    private static final long MOST_LATE_MILLIS = 1000;

    /** As that, where threads pause and the clock jumps. */
    private static final long MOST_DELAYED_MILLIS = 30_000;

    /** Nobody knows of a procedure without a binding whether it is idempotent; these are. */
    private static final CallOptions REPEATED =
            CallOptions.DEFAULT.withRepetition(CallOptions.Repetition.ALWAYS);

    private final SimulatedWorld world;
    private final int number;
    private final String caller;
    private Future<? extends ReferenceCounted> future;

    /** From the first byte after the RPC header; {@code null} for a call without any. */
    private byte[] arguments;

    /** As {@link #arguments}. */
    private byte[] results;

    private byte[] tail = {};

    /** The message itself too, or what of it is not lent apart. */
    private final List<UserMemory> lent = new ArrayList<>();

    /** The reply is kept to the end of the history, where it has to be what it was. */
    private ReferenceCounted kept;

    /** Whether something else than the network may end it: its own time-out, or who has called. */
    private boolean mayFail;

    /** Whether no device refuses any more, so that a server has no reason for an error. */
    private boolean isAfterFaults;

    /** Whether it waits for a client that comes back when it likes to. */
    private boolean mayWait;

    /** Whether it has called somebody who lies. */
    private boolean isDeceived;

    /** The reply to one that was deceived. */
    private byte[] seen;

    private boolean isCancelled;
    private int endings;
    private final long begin;
    private long end;
    private long millis;

    private SimulatedCall(SimulatedWorld world, int number, String caller) {
        this.world = world;
        this.number = number;
        this.caller = caller;
        begin = world.network.nanoTime();
        millis = world.callMillis;
    }

    // ------------------------------------------------------------------ kinds

    /** Appends number, what is wanted, after how many milliseconds, and the opaque. */
    static ByteBuf arguments(ByteBuf call, int number, int wanted, int millis, byte[] data) {
        call.writeInt(number).writeInt(wanted).writeInt(millis);
        return SimulatedProgram.opaque(call, data);
    }

    private static int length(Random random) {
        return switch (random.nextInt(6)) {
            case 0 -> 0;
            case 1 -> random.nextInt(5000);
            case 2 -> random.nextInt(120_000);
            default -> random.nextInt(400);
        };
    }

    /** A call of a client, of any kind. */
    static SimulatedCall of(
            SimulatedWorld world, int number, SimulatedClient client, Random random) {
        SimulatedCall made = new SimulatedCall(world, number, client.toString());
        int procedure = random.nextInt(6);
        boolean isBound = procedure != 0 && procedure != 5;
        int most =
                switch (procedure) {
                    case SimulatedProgram.READ -> SimulatedProgram.SINK;
                    case SimulatedProgram.WRITE, SimulatedProgram.APPEND -> SimulatedProgram.SHORT;
                    default -> SimulatedProgram.LONGEST_COPY;
                };
        int wanted = Math.min(most, random.nextInt(3) == 0 ? random.nextInt(most) : length(random));
        boolean isRead = procedure == SimulatedProgram.READ;
        byte[] data = SimulatedProgram.data(~number, isRead ? 0 : length(random));
        int millis = random.nextInt(5) == 0 ? random.nextInt(1500) : 0;
        world.sentBy(number, client.incarnation());
        CallOptions options = isBound ? CallOptions.DEFAULT : REPEATED;
        if (random.nextInt(6) == 0 && world.settings.hasDeadlines()) {
            made.millis = 1L + random.nextInt(2000);
            options = options.withTimeout(Duration.ofMillis(made.millis));
            made.mayFail = true;
        }
        ByteBuf call =
                isBound
                        ? SimulatedProgram.call(SimulatedProgram.PROGRAM, procedure)
                        : SimulatedProgram.call(SimulatedProgram.UNBOUND, 1);
        if (procedure == 0 && random.nextBoolean()) {
            made.results = new byte[0];
        } else {
            arguments(call, number, wanted, millis, data);
            made.tail = tail(random, isBound && !isRead, number);
            call.writeBytes(made.tail);
            made.expect(call, wanted);
        }
        made.note("calls procedure " + procedure + ", " + data.length + " bytes, wants " + wanted);
        boolean isLent = isBound && random.nextBoolean();
        int fails = random.nextInt(60);
        if (fails == 0) {
            made.mayFail = true;
            call.release();
            made.future =
                    client.rpc.<ByteBuf>call(
                            xid -> {
                                throw new AssertionError("the encoder of " + number);
                            },
                            options);
        } else if (isLent) {
            made.future = client.rpc.call(made.lend(client, call, procedure, data), options);
        } else {
            made.future = client.rpc.call(made.counted(client, call), options);
        }
        made.watch();
        return made;
    }

    /** Arguments behind the eligible one: with many of them, it is not all of a long call that is reduced. */
    private static byte[] tail(Random random, boolean isPossible, int number) {
        boolean hasTail = isPossible && random.nextInt(3) == 0;
        return SimulatedProgram.data(~number, hasTail ? 4 * random.nextInt(3000) : 0);
    }

    /**
     * A call without anything that may end it but the network.
     *
     * @param length of its arguments in bytes
     * @param wanted of its results
     */
    static SimulatedCall plain(
            SimulatedWorld world, int number, SimulatedClient client, int length, int wanted) {
        SimulatedCall made = new SimulatedCall(world, number, client.toString());
        made.isAfterFaults = true;
        ByteBuf call = SimulatedProgram.call(SimulatedProgram.UNBOUND, 1);
        arguments(call, number, wanted, 0, SimulatedProgram.data(~number, length));
        made.expect(call, wanted);
        made.note("calls");
        made.future = client.rpc.call(call, REPEATED);
        made.watch();
        return made;
    }

    /** A call of a server to its client. */
    static SimulatedCall reverse(
            SimulatedWorld world, int number, RpcRdmaReverseRequester callback, Random random) {
        SimulatedCall made = new SimulatedCall(world, number, "a server");
        ByteBuf call = SimulatedProgram.call(SimulatedProgram.UNBOUND, 1);
        byte[] data = SimulatedProgram.data(~number, 4 * random.nextInt(200));
        arguments(call, number, 0, 0, data);
        made.expect(call, 0);
        made.results = made.arguments;
        // Before the client has come back there is nobody to call.
        made.mayFail =
                callback.state() != RpcRdmaReverseRequester.State.UP
                        || world.settings.hasDeadlines();
        made.mayWait = true;
        made.note("calls back, " + data.length + " bytes");
        made.future = callback.call(call);
        made.watch();
        return made;
    }

    private void expect(ByteBuf call, int wanted) {
        int length = call.readableBytes() - SimulatedProgram.CALL_BYTES;
        arguments = ByteBufUtil.getBytes(call, SimulatedProgram.CALL_BYTES, length);
        ByteBuf out = Unpooled.buffer().writeInt(number);
        SimulatedProgram.opaque(out, SimulatedProgram.data(number, wanted));
        results = ByteBufUtil.getBytes(out);
        world.expectArguments(number, arguments);
    }

    /** The message in memory that knows when it is given back, and that it is given back once. */
    private ByteBuf counted(SimulatedClient client, ByteBuf call) {
        byte[] bytes = bytes(call);
        call.release();
        return counted(client, bytes);
    }

    /** One call in four has memory of two pieces. */
    private ByteBuf counted(SimulatedClient client, byte[] bytes) {
        int first = number % 4 == 0 ? bytes.length / 3 : 0;
        UserMemory last =
                lend(client, new UserMemory(Arrays.copyOfRange(bytes, first, bytes.length)));
        return first == 0
                ? last
                : Unpooled.wrappedBuffer(
                        lend(client, new UserMemory(Arrays.copyOf(bytes, first))), last);
    }

    private UserMemory lend(SimulatedClient client, UserMemory memory) {
        memory.lentTo(client.host.context());
        lent.add(memory);
        return memory;
    }

    private RpcMessage lend(SimulatedClient client, ByteBuf call, int procedure, byte[] data) {
        if (procedure == SimulatedProgram.READ) {
            return new RpcMessage(counted(client, call))
                    .addSink(lend(client, new UserMemory(SimulatedProgram.SINK)));
        }
        if (data.length == 0) {
            return new RpcMessage(counted(client, call));
        }
        int position = SimulatedProgram.CALL_BYTES + 16;
        call.writerIndex(position).writeBytes(tail);
        RpcMessage parts =
                new RpcMessage(counted(client, call)).addItem(position, counted(client, data));
        return parts.maximumReply(procedure == SimulatedProgram.COPY ? 64 << 10 : 2000);
    }

    /** It may end in any way, with any bytes; but it ends, and what it has lent is its own then. */
    SimulatedCall deceived() {
        isDeceived = true;
        mayFail = true;
        return this;
    }

    // ------------------------------------------------------------------ end

    private void watch() {
        future.addListener(
                done -> {
                    if (++endings > 1) {
                        world.wrong(this + " ends again");
                    }
                    end = world.network.nanoTime();
                    note(done.isSuccess() ? "is answered" : "fails: " + done.cause().getClass());
                });
    }

    void cancel() {
        isCancelled = future.cancel(false);
        note("is cancelled: " + isCancelled);
    }

    boolean isDone() {
        return future.isDone();
    }

    boolean isSuccess() {
        return future.isSuccess();
    }

    /** Whoever has called does not wait any more. */
    void excuse() {
        mayFail |= !future.isDone();
    }

    /** When it has ended. */
    void check(boolean isKept) {
        long late = TimeUnit.NANOSECONDS.toMillis(end - begin) - millis;
        if (late > (world.plan.isCalm() ? MOST_LATE_MILLIS : MOST_DELAYED_MILLIS)) {
            throw new AssertionError(this + " ends " + late + " ms behind its deadline");
        }
        if (future.cause() instanceof ConnectionLostException lost
                && !lost.isSent()
                && world.isExecuted(number)) {
            throw new AssertionError(this + " is executed, and said not to be sent", lost);
        }
        if (future.isSuccess()) {
            compare(future.getNow());
            if (isKept) {
                kept = future.getNow();
            } else {
                ((ReferenceCounted) future.getNow()).release();
            }
        } else if (!isCancelled && !mayFail && !hasNotGrown() && !world.plan.hasLosses()) {
            throw new AssertionError(this + " fails, though nothing was lost", future.cause());
        } else if (!isCancelled
                && !mayFail
                && !mayWait
                && future.cause() instanceof CallTimeoutException
                && world.plan.areLossesSeen()) {
            throw new AssertionError(
                    this + " waits for ever, though each loss is seen", future.cause());
        } else if (!isCancelled && !mayFail && !(future.cause() instanceof RpcRdmaException)) {
            throw new AssertionError(this + " fails without an error of the codec", future.cause());
        }
    }

    /** Many that grow at the same time may be above the memory of a connection; one alone never is. */
    private boolean hasNotGrown() {
        return !isAfterFaults
                && world.settings.mayLackMemoryToGrow()
                && future.cause() instanceof ErrChunkReplyException;
    }

    /** At the end of the history: nobody has written to what is the caller's. */
    void checkReply() {
        if (kept != null) {
            compare(kept);
            kept.release();
        }
    }

    /** When all connections have ended: what was lent is back, and was never given back too early. */
    void checkLent() {
        lent.forEach(this::checkBack);
    }

    private void checkBack(UserMemory memory) {
        if (!memory.problems().isEmpty()) {
            throw new AssertionError(this + ": " + memory.problems());
        }
        if (memory.refCnt() != 0) {
            throw new AssertionError(this + " has its memory still");
        }
    }

    private void compare(ReferenceCounted reply) {
        byte[] came = reply instanceof RpcMessage parts ? whole(parts) : bytes((ByteBuf) reply);
        if (isDeceived) {
            if (seen != null && !Arrays.equals(seen, came)) {
                throw new AssertionError(this + " has other bytes than when it ended");
            }
            seen = came;
            return;
        }
        boolean isError = came.length == SimulatedProgram.REPLY_BYTES && came[came.length - 1] != 0;
        if (isError && world.plan.hasLosses() && !isAfterFaults) {
            return; // a device has refused, and the server has said SYSTEM_ERR
        }
        byte[] body = Arrays.copyOfRange(came, SimulatedProgram.REPLY_BYTES, came.length);
        if (!Arrays.equals(body, results)) {
            throw new AssertionError(
                    this + " has wrong bytes: " + body.length + " of " + results.length);
        }
    }

    private static byte[] bytes(ByteBuf reply) {
        return ByteBufUtil.getBytes(reply);
    }

    /** A result in a sink comes last, and its round-up is not sent. */
    private static byte[] whole(RpcMessage message) {
        byte[] payload = bytes(message.content());
        if (message.sinks() == 0 || message.sinkLength(0) == 0) {
            return payload;
        }
        int length = message.sinkLength(0);
        byte[] all = Arrays.copyOf(payload, payload.length + length + (-length & 3));
        ByteBuf sink = message.sink(0);
        int from = sink.writerIndex() - length;
        System.arraycopy(ByteBufUtil.getBytes(sink, from, length), 0, all, payload.length, length);
        return all;
    }

    private void note(String what) {
        world.network.note(this + " " + what);
    }

    @Override
    public String toString() {
        return "call " + number + " of " + caller;
    }
}
