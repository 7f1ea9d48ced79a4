// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import java.io.IOException;

/**
 * Tells {@link FlushConsolidation} what is read, written and flushed, and what must not wait. Flushes in parts: a
 * requester that makes its next calls when replies come would soon have all of them in one batch, and one of the two
 * ends would always wait for the other one. So half of the calls go before the rest is made, where that costs nobody
 * else.
 */
final class FlushConsolidationStage extends CodecStageHandler {

    private final ConnectionContext link;
    private final RequesterState requester;
    private final FlushConsolidation flushes;

    FlushConsolidationStage(RpcRdmaConnection connection) {
        link = connection.link();
        requester = connection.requester();
        flushes = link.flushes();
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        super.handlerAdded(ctx);
        flushes.attach(ctx);
    }

    // ------------------------------------------------------------------ written

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        toNetwork(message, promise);
        int written = flushes.wrote();
        if (written >= FlushConsolidation.WORTH
                && isHalfOfTheCalls(written)
                && link.channel().flushesInParts()) {
            flushes.flush();
        }
    }

    private boolean isHalfOfTheCalls(int written) {
        int inFlight = requester.isOpen() ? requester.credits().inFlight() : 0;
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

    /** The batch may have ended with it, and the channel is closed past the pipeline then. */
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

    @Override
    public void deregister(ChannelHandlerContext ctx, ChannelPromise promise) {
        flushes.flushWaiting();
        ctx.deregister(promise);
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        flushes.endBatch();
    }
}
