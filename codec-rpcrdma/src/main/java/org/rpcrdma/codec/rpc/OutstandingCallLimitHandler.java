// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelConfig;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import java.util.ArrayDeque;
import java.util.concurrent.RejectedExecutionException;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.codec.internal.ArgumentChecks;

/**
 * Limits the outstanding calls of a connection to a server over a byte stream, where nothing else holds a client back;
 * over RDMA the credits do (RFC 8166, 3.3.1). Behind a {@link RecordMarkingHandler}, before an {@link
 * RpcServerHandler}:
 *
 * <pre>{@code
 * channel.pipeline().addLast(
 *         new RecordMarkingHandler(), new OutstandingCallLimitHandler(16), new RpcServerHandler(program));
 * }</pre>
 *
 * <p>A call is outstanding until its reply was written to the socket, so a client that reads no replies is limited too.
 * At the limit the channel stops reading, and calls that came in the same read wait here. Each may have as much memory
 * as the longest record, and its reply. A call that is dropped ends without a reply ({@link RpcServerCall#drop}).
 *
 * <p>Reads are held back until a call ends, and {@link ChannelConfig#isAutoRead} stays as it is but for the rest of the
 * read that has reached the limit: so other handlers may stop and begin to read by it too.
 *
 * <p>Calls in the other direction are not counted. Their replies are passed on at once, but are not read at the limit.
 * One handler for each channel.
 */
public final class OutstandingCallLimitHandler extends ChannelDuplexHandler {

    private final int maxOutstandingCalls;

    /** At most the records of one read from the socket, in the buffer of that read. */
    private final ArrayDeque<Object> waiting = new ArrayDeque<>();

    /**
     * Of the write of a reply, one for all. After a write that has failed another reply follows, or the connection is
     * lost.
     */
    private final ChannelFutureListener replyWritten =
            written -> {
                if (written.isSuccess()) {
                    callEnded();
                }
            };

    private ChannelHandlerContext ctx;
    private int outstanding;
    private boolean isDelivering;

    /** Whether this handler has turned {@link ChannelConfig#isAutoRead} off until the end of the read. */
    private boolean isPaused;

    /** Whether a read is held back. */
    private boolean isReadHeld;

    /** Whether somebody has asked for the read that is held back, and not {@link ChannelConfig#isAutoRead}. */
    private boolean isReadAsked;

    /**
     * A handler of one channel.
     *
     * @param maxOutstandingCalls calls that are passed on and not answered, from 1
     */
    public OutstandingCallLimitHandler(int maxOutstandingCalls) {
        this.maxOutstandingCalls =
                ArgumentChecks.inRange(
                        "maxOutstandingCalls", maxOutstandingCalls, 1, Integer.MAX_VALUE);
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        this.ctx = ctx;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (isReply(message)) {
            ctx.fireChannelRead(message);
        } else {
            waiting.add(message);
            deliver();
            pauseIfFull();
        }
    }

    /**
     * The event loop goes on with a read while the channel reads by itself, and does not look for reads to be asked for
     * again: only turning that off ends them.
     */
    private void pauseIfFull() {
        ChannelConfig config = ctx.channel().config();
        if (isFull() && config.isAutoRead() && !ctx.isRemoved()) {
            isPaused = true;
            config.setAutoRead(false);
        }
    }

    /** The next read, which follows from the channel reading by itself again, is held back here. */
    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        endPause();
        ctx.fireChannelReadComplete();
    }

    private void endPause() {
        if (isPaused) {
            isPaused = false;
            ctx.channel().config().setAutoRead(true);
        }
    }

    @Override
    public void read(ChannelHandlerContext ctx) {
        if (isFull()) {
            isReadHeld = true;
            isReadAsked |= !isPaused && !ctx.channel().config().isAutoRead();
        } else {
            ctx.read();
        }
    }

    private boolean isFull() {
        return outstanding >= maxOutstandingCalls || !waiting.isEmpty();
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        ChannelPromise written = promise;
        if (isReply(message) || isMarkedReply(message)) {
            try {
                written = promise.unvoid().addListener(replyWritten);
            } catch (Throwable t) {
                ReferenceCountUtil.release(message);
                throw t;
            }
        }
        ctx.write(message, written);
    }

    private static boolean isReply(Object message) {
        return message instanceof ByteBuf whole
                ? ReplyHeader.isIn(whole)
                : message instanceof RpcMessage parts && ReplyHeader.isIn(parts.content());
    }

    /** A handler may write the record mark itself (RFC 5531, 11). */
    private static boolean isMarkedReply(Object message) {
        return message instanceof ByteBuf record && ReplyHeader.isInRecord(record);
    }

    /** Frees the place of a call that ends without a reply. On any thread. */
    static void callDropped(Channel channel) {
        OutstandingCallLimitHandler limit =
                channel.pipeline().get(OutstandingCallLimitHandler.class);
        if (limit == null) {
            return;
        }
        if (channel.eventLoop().inEventLoop()) {
            limit.callEnded();
            return;
        }
        try {
            channel.eventLoop().execute(limit::callEnded);
        } catch (RejectedExecutionException e) {
            // The event loop has ended, and the connection with it.
        } catch (OutOfMemoryError e) {
            channel.close(); // or the place would be lost
            throw e;
        }
    }

    /** The next calls are read outside of a read of the socket, whose end handlers wait for to flush their replies. */
    private void callEnded() {
        if (outstanding > 0) {
            outstanding--;
            if (deliver()) {
                ctx.fireChannelReadComplete();
            }
        }
    }

    /** Not recursively: where a call is answered at once, the loop that is under way goes on. */
    private boolean deliver() {
        if (isDelivering) {
            return false;
        }
        boolean hasDelivered = false;
        isDelivering = true;
        try {
            while (outstanding < maxOutstandingCalls && !waiting.isEmpty()) {
                outstanding++;
                hasDelivered = true;
                ctx.fireChannelRead(waiting.remove());
            }
        } finally {
            isDelivering = false;
        }
        if (!isFull()) {
            readOn();
        }
        return hasDelivered;
    }

    /** A read that is held back was not asked for any more if the channel has been told meanwhile not to read. */
    private void readOn() {
        endPause();
        boolean isDue = isReadHeld && (isReadAsked || ctx.channel().config().isAutoRead());
        isReadHeld = false;
        isReadAsked = false;
        if (isDue) {
            ctx.read();
        }
    }

    /** Without its handler an open channel has no limit; a closed one is done with. */
    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        boolean isOpen = ctx.channel().isOpen();
        boolean hasDelivered = isOpen && !waiting.isEmpty();
        while (!waiting.isEmpty()) {
            if (isOpen) {
                ctx.fireChannelRead(waiting.remove());
            } else {
                ReferenceCountUtil.release(waiting.remove());
            }
        }
        if (hasDelivered) {
            ctx.fireChannelReadComplete();
        }
        if (isOpen) {
            readOn();
        }
        isPaused = false;
        isReadHeld = false;
    }
}
