// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import java.io.IOException;

/**
 * Reports reads, writes, flushes and events that forbid deferral to {@link FlushScheduler}. Flushes in parts: a
 * requester that sends its next calls on receipt of replies would soon have all calls in one batch, with one end always
 * idle. So the first half of the calls is flushed before the rest is written, where other connections of the event loop
 * do not suffer.
 */
final class FlushSchedulingHandler extends DirectlyLinkedStageHandler {

    private final ConnectionSharedState link;
    private final RequesterState requester;
    private final FlushScheduler flushes;
    private ChannelPipeline pipeline;
    private Channel.Unsafe channel;

    FlushSchedulingHandler(RpcRdmaConnection connection) {
        link = connection.link();
        requester = connection.requester();
        flushes = link.flushes();
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        super.handlerAdded(ctx);
        pipeline = ctx.pipeline();
        channel = ctx.channel().unsafe();
        flushes.attach(ctx);
        link.internals.readInto(ctx, this);
        link.internals.boundUnsent(true);
    }

    // ------------------------------------------------------------------ written

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (promise.isDone() || pipeline.firstContext() != ctx) {
            ctx.write(message, promise); // a handler follows, or the write was cancelled
        } else if (!link.internals.tryWrite(message, promise)) {
            // What the head of the pipeline does, without the way to it.
            channel.write(message, promise);
        }
        int written = flushes.wrote();
        if (written >= FlushScheduler.WORTH
                && isHalfOfTheCalls(written)
                && link.internals.flushesInParts()) {
            flushes.flush();
        }
    }

    private boolean isHalfOfTheCalls(int written) {
        int inFlight = requester.credits == null ? 0 : requester.credits.inFlight;
        return inFlight > 0 && written >= inFlight / 2;
    }

    @Override
    public void flush(ChannelHandlerContext ctx) {
        flushes.flushed();
    }

    // ------------------------------------------------------------------ read

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        flushes.beginMessage();
        toUser(message);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        ctx.fireChannelReadComplete();
        flushes.endBatch();
    }

    /** An exception may end the batch without channelReadComplete, and close the channel without this stage. */
    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        flushes.endBatch();
        if (!ctx.channel().isActive() || cause instanceof IOException) {
            link.ends(RpcRdmaCounter.CONNECTIONS_LOST);
        }
        ctx.fireExceptionCaught(cause);
    }

    // ------------------------------------------------------------------ what does not wait

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
        if (!ctx.channel().isWritable()) {
            flushes.flushWaiting();
        }
        ctx.fireChannelWritabilityChanged();
    }

    @Override
    public void disconnect(ChannelHandlerContext ctx, ChannelPromise promise) {
        flushes.flushWaiting();
        link.ends(RpcRdmaCounter.CONNECTIONS_CLOSED_HERE);
        ctx.disconnect(promise);
    }

    @Override
    public void close(ChannelHandlerContext ctx, ChannelPromise promise) {
        flushes.flushWaiting();
        link.ends(RpcRdmaCounter.CONNECTIONS_CLOSED_HERE);
        ctx.close(promise);
    }

    /**
     * The stages belong to the event loop that they were added on, and would run there while the channel runs on the
     * next one. So a channel that leaves it ends, as one with a queue pair does.
     */
    @Override
    public void channelUnregistered(ChannelHandlerContext ctx) {
        if (ctx.channel().isOpen()) {
            ctx.fireExceptionCaught(
                    new IllegalStateException(
                            "channel "
                                    + ctx.channel()
                                    + " left its event loop with RpcRdmaCodec in its pipeline, and"
                                    + " is closed (expected: the loop that the codec was added on;"
                                    + " register a new channel with the other one)"));
            ctx.channel().close();
        }
        ctx.fireChannelUnregistered();
    }

    @Override
    public void deregister(ChannelHandlerContext ctx, ChannelPromise promise) {
        flushes.flushWaiting();
        ctx.deregister(promise);
    }

    @Override
    void removed(ChannelHandlerContext ctx) {
        link.internals.readInto(null, null);
        link.internals.boundUnsent(false);
        flushes.endBatch();
    }
}
