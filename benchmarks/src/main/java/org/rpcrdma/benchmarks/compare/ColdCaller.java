// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.ReferenceCountUtil;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.rpcrdma.benchmarks.ConnectionMessages;
import org.rpcrdma.benchmarks.Nfs3Messages;

/**
 * Makes the first NULL calls of a process, from when its connection is active, and loads next to no classes of its own.
 * On the event loop, but for {@link #done}.
 */
final class ColdCaller extends ChannelInboundHandlerAdapter {

    /**
     * @param firstMillis when the first call was answered, of {@link System#currentTimeMillis}
     * @param firstTimes what the system counts of this process then, {@code /proc/self/stat}; empty without it
     * @param calls answered in all of the time
     * @param perInterval how many were answered in each {@link #INTERVAL_MILLIS} of it, with spaces between
     */
    record Calls(long firstMillis, String firstTimes, long calls, String perInterval) {}

    static final long INTERVAL_MILLIS = 100;

    private static final long INTERVAL = TimeUnit.MILLISECONDS.toNanos(INTERVAL_MILLIS);

    private static final int TIMES_LENGTH = 1024;

    private final CompletableFuture<Calls> done = new CompletableFuture<>();
    private final int outstanding;
    private final long nanos;
    private final byte[] firstTimes = new byte[TIMES_LENGTH];
    private int firstTimesLength;
    private long firstMillis;
    private long calls;
    private final long[] perInterval;
    private long begin;
    private ConnectionMessages messages;
    private int xid;
    private int out;

    ColdCaller(int outstanding, long millis) {
        this.outstanding = outstanding;
        nanos = TimeUnit.MILLISECONDS.toNanos(millis);
        perInterval = new long[(int) ((millis + INTERVAL_MILLIS - 1) / INTERVAL_MILLIS)];
    }

    /** Any thread. */
    CompletableFuture<Calls> done() {
        return done;
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        messages = new ConnectionMessages(ctx.channel());
        begin = System.nanoTime();
        for (int i = 0; i < outstanding; i++) {
            call(ctx);
        }
        ctx.flush();
    }

    private void call(ChannelHandlerContext ctx) {
        out++;
        ctx.write(messages.nullCall(++xid), ctx.voidPromise());
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        int length = ((ByteBuf) message).readableBytes();
        ReferenceCountUtil.release(message);
        if (length != Nfs3Messages.NULL_REPLY_LENGTH) {
            throw new IllegalStateException("reply of " + length + " bytes");
        }
        if (calls++ == 0) {
            firstMillis = System.currentTimeMillis();
            lookAtTimes();
        }
        out--;
        long took = System.nanoTime() - begin;
        if (took < nanos) {
            perInterval[(int) (took / INTERVAL)]++;
            call(ctx);
        } else if (out == 0) {
            done.complete(
                    new Calls(
                            firstMillis,
                            new String(firstTimes, 0, firstTimesLength, StandardCharsets.US_ASCII),
                            calls,
                            Arrays.stream(perInterval)
                                    .mapToObj(Long::toString)
                                    .collect(Collectors.joining(" "))));
        }
    }

    private void lookAtTimes() {
        try (FileInputStream times = new FileInputStream("/proc/self/stat")) {
            firstTimesLength = Math.max(0, times.read(firstTimes));
        } catch (IOException e) {
            firstTimesLength = 0; // not Linux
        }
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        ctx.flush();
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        done.completeExceptionally(new ClosedChannelException());
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        done.completeExceptionally(cause);
        ctx.close();
    }
}
