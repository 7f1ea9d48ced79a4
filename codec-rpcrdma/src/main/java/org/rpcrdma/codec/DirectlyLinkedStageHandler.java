// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.util.internal.PromiseNotificationUtil;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.Map;

/**
 * Base class of the codec's handlers. Messages pass from one stage to the next by a direct method call, which costs a
 * quarter of an event of the pipeline; all other events take the pipeline. So a handler between two stages sees no
 * messages: add handlers after the last stage, see {@link #lastOf}.
 */
abstract class DirectlyLinkedStageHandler extends ChannelDuplexHandler {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(DirectlyLinkedStageHandler.class);

    private ChannelHandlerContext context;

    /** The adjacent stages; {@code null} at either end of the codec. */
    private DirectlyLinkedStageHandler userSide;

    private DirectlyLinkedStageHandler networkSide;

    private boolean isRemoved;

    /** The context of the stage next to the user; {@code null} when there is none. */
    static ChannelHandlerContext lastOf(ChannelPipeline pipeline) {
        ChannelHandlerContext last = null;
        for (Map.Entry<String, ChannelHandler> entry : pipeline) {
            if (entry.getValue() instanceof DirectlyLinkedStageHandler stage) {
                last = stage.context;
            }
        }
        return last;
    }

    /** Connects two adjacent stages. */
    static void join(DirectlyLinkedStageHandler network, DirectlyLinkedStageHandler user) {
        network.userSide = user;
        user.networkSide = network;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        context = ctx;
    }

    @Override
    public final void handlerRemoved(ChannelHandlerContext ctx) {
        try {
            removed(ctx);
        } finally {
            isRemoved = true;
        }
    }

    /** The stage leaves the pipeline. */
    void removed(ChannelHandlerContext ctx) {
        // Nothing follows from it.
    }

    /** The context of this handler in the pipeline. */
    final ChannelHandlerContext context() {
        return context;
    }

    /** Removes this stage from the pipeline and connects its neighbours. */
    final void leave() {
        if (userSide != null) {
            userSide.networkSide = networkSide;
        }
        if (networkSide != null) {
            networkSide.userSide = userSide;
        }
        context.pipeline().remove(this);
    }

    /**
     * Passes a message to the next handler towards the user. While the handlers of a closed channel are being removed
     * one by one, the pipeline finds the next handler that is still there.
     */
    final void toUser(Object message) {
        DirectlyLinkedStageHandler next = userSide;
        if (next == null || next.isRemoved) {
            context.fireChannelRead(message);
            return;
        }
        try {
            next.channelRead(next.context, message);
        } catch (Throwable t) {
            // As in the pipeline, an exception goes to the next handler, not to the sender.
            next.context.fireExceptionCaught(t);
            if (message instanceof InboundCallState) {
                next.context.close(); // no handler can answer it (RFC 8166, 4.5.4)
            }
        }
    }

    /** Passes a message to the next handler towards the network. */
    final void toNetwork(Object message, ChannelPromise promise) {
        DirectlyLinkedStageHandler next = networkSide;
        if (next == null || next.isRemoved) {
            context.write(message, promise);
            return;
        }
        try {
            next.write(next.context, message, promise);
        } catch (Throwable t) {
            PromiseNotificationUtil.tryFailure(promise, t, promise.isVoid() ? null : LOGGER);
        }
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        toUser(message);
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        toNetwork(message, promise);
    }
}
