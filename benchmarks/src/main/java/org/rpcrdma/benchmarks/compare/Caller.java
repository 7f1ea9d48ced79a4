// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.nio.channels.ClosedChannelException;
import org.HdrHistogram.Histogram;
import org.rpcrdma.benchmarks.Nfs3Messages;

/**
 * The client's RPC handler, the same on every transport. It keeps a number of calls outstanding, each answered call is
 * followed by the next one at once, all on the event loop. Results are copied into the caller's own memory, as one does
 * with them; arguments are sent from it.
 */
final class Caller extends ChannelInboundHandlerAdapter {

    static final int MAX_OUTSTANDING = 64;

    /** Replies may overtake each other a little. */
    private static final int STARTS = MAX_OUTSTANDING * 16;

    /** Told on the event loop. */
    interface Listener {
        /** All calls of a window are answered. */
        void finished(long calls);

        void failed(Throwable cause);
    }

    private final ByteBuf memory;
    private final Listener listener;
    private final Histogram latencies;
    private final long[] starts = new long[STARTS];

    private ChannelHandlerContext ctx;
    private Work work;
    private ByteBuf argument;
    private long end;
    private int xid;
    private int out;
    private long calls;

    /**
     * @param memory for data, at least as long as the longest; stays the user's
     * @param latencies takes nanoseconds
     */
    Caller(ByteBuf memory, Histogram latencies, Listener listener) {
        this.memory = memory;
        this.latencies = latencies;
        this.listener = listener;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext added) {
        ctx = added;
    }

    /** Begins a window; on the event loop, when the last one is finished. */
    void start(Work next, long endNanos) {
        work = next;
        end = endNanos;
        calls = 0;
        argument = memory.slice(0, next.bytes());
        for (int i = 0; i < next.outstanding(); i++) {
            call();
        }
        ctx.flush();
    }

    private void call() {
        int id = ++xid;
        ByteBufAllocator allocator = ctx.alloc();
        ByteBuf message =
                switch (work.procedure()) {
                    case NULL -> Nfs3Messages.nullCall(allocator, id);
                    case READ -> Nfs3Messages.readCall(allocator, id, work.bytes());
                    case WRITE -> Nfs3Messages.writeCall(allocator, id, argument);
                };
        out++;
        starts[id & (STARTS - 1)] = System.nanoTime();
        ctx.write(message, ctx.voidPromise());
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        ByteBuf reply = (ByteBuf) message;
        try {
            take(reply);
        } finally {
            reply.release();
        }
    }

    private void take(ByteBuf reply) {
        int id = reply.getInt(reply.readerIndex());
        int length =
                switch (work.procedure()) {
                    case NULL -> Nfs3Messages.NULL_REPLY_LENGTH;
                    case READ -> Nfs3Messages.READ_REPLY_OVERHEAD + work.bytes();
                    case WRITE -> Nfs3Messages.WRITE_REPLY_LENGTH;
                };
        if (reply.readableBytes() != length) {
            throw new IllegalStateException(
                    "reply of " + reply.readableBytes() + " bytes (expected: " + length + ")");
        }
        if (work.procedure() == Work.Procedure.READ) {
            reply.getBytes(
                    reply.readerIndex() + Nfs3Messages.READ_REPLY_OVERHEAD,
                    memory,
                    0,
                    work.bytes());
        }
        long now = System.nanoTime();
        latencies.recordValue(now - starts[id & (STARTS - 1)]);
        calls++;
        out--;
        if (now - end < 0) {
            call();
        } else if (out == 0) {
            listener.finished(calls);
        }
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        context.flush();
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        listener.failed(new ClosedChannelException());
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        listener.failed(cause);
        context.close();
    }
}
