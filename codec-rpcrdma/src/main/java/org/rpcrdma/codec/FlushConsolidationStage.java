// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import java.io.IOException;
import java.util.concurrent.TimeUnit;

/**
 * Flush consolidation. Each flush costs a system call or a doorbell. So those that are asked for while a batch of
 * messages is read become one, which waits for a short while. And a requester that makes its next calls when replies
 * come would soon have all of them in one batch, and one of the two ends would always wait for the other one: so half
 * of the calls go before the rest is made, where that costs nobody else.
 */
final class FlushConsolidationStage extends CodecStageHandler {

    /** A flush costs about as much as so many calls: fewer do not go early, and more do not wait. */
    private static final int WORTH = 8;

    /** When another message is read and the first flush has waited longer, it waits for no more handlers. */
    private static final long LONGEST_NANOS = TimeUnit.MICROSECONDS.toNanos(20);

    private final ConnectionContext link;
    private final Requester requester;

    /** About how many messages are written and have not gone: one that fails counts too. */
    private int written;

    private boolean isReading;

    /** The flushes that were asked for and have not been done, and when the first one was. */
    private int waiting;

    private long waitingSince;

    FlushConsolidationStage(RpcRdmaConnection connection) {
        link = connection.link();
        requester = connection.requester();
    }

    // ------------------------------------------------------------------ written

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        written++;
        toNetwork(message, promise);
        if (written >= WORTH && isHalfOfTheCalls() && link.channel().flushesInParts()) {
            flushNow(ctx);
        }
    }

    private boolean isHalfOfTheCalls() {
        int inFlight = requester.isOpen() ? requester.credits().inFlight() : 0;
        return inFlight > 0 && written >= inFlight / 2;
    }

    // ------------------------------------------------------------------ flushed

    @Override
    public void flush(ChannelHandlerContext ctx) {
        if (!isReading || ++waiting == WORTH) {
            flushNow(ctx);
        } else if (waiting == 1) {
            waitingSince = link.channel().nanoTime();
        }
    }

    private void flushNow(ChannelHandlerContext ctx) {
        waiting = 0;
        written = 0;
        ctx.flush();
    }

    private void flushWaiting(ChannelHandlerContext ctx) {
        if (waiting > 0) {
            flushNow(ctx);
        }
    }

    // ------------------------------------------------------------------ read

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (waiting > 0 && link.channel().nanoTime() - waitingSince > LONGEST_NANOS) {
            flushNow(ctx);
        }
        isReading = true;
        toUser(message);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        ctx.fireChannelReadComplete();
        isReading = false;
        flushWaiting(ctx);
    }

    /** The batch may have ended with it, and the channel is closed past the pipeline then. */
    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        isReading = false;
        flushWaiting(ctx);
        if (!ctx.channel().isActive() || cause instanceof IOException) {
            link.ends(RpcRdmaCounter.CONNECTIONS_LOST);
        }
        ctx.fireExceptionCaught(cause);
    }

    // ------------------------------------------------------------------ what does not wait

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
        if (!ctx.channel().isWritable()) {
            flushWaiting(ctx);
        }
        ctx.fireChannelWritabilityChanged();
    }

    @Override
    public void disconnect(ChannelHandlerContext ctx, ChannelPromise promise) {
        flushWaiting(ctx);
        link.ends(RpcRdmaCounter.CONNECTIONS_CLOSED_HERE);
        ctx.disconnect(promise);
    }

    @Override
    public void close(ChannelHandlerContext ctx, ChannelPromise promise) {
        flushWaiting(ctx);
        link.ends(RpcRdmaCounter.CONNECTIONS_CLOSED_HERE);
        ctx.close(promise);
    }

    @Override
    public void deregister(ChannelHandlerContext ctx, ChannelPromise promise) {
        flushWaiting(ctx);
        ctx.deregister(promise);
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        flushWaiting(ctx);
    }
}
