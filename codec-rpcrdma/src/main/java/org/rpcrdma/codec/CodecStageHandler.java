// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.util.internal.PromiseNotificationUtil;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

/**
 * A handler of the codec. Messages go from one stage to the next by a plain call, which has the effect of the
 * pipeline's own way and a quarter of its cost; all other events take the pipeline's way. A handler that
 * is put between two stages sees no messages; what belongs behind the codec goes behind {@link RecordMarkRemover}.
 */
abstract class CodecStageHandler extends ChannelDuplexHandler {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(CodecStageHandler.class);

    private ChannelHandlerContext context;

    /** The neighbours; {@code null} where other handlers of the pipeline begin. */
    private CodecStageHandler userSide;

    private CodecStageHandler networkSide;

    /** Makes two stages neighbours. */
    static void join(CodecStageHandler network, CodecStageHandler user) {
        network.userSide = user;
        user.networkSide = network;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        context = ctx;
    }

    /** Its place in the pipeline. */
    final ChannelHandlerContext context() {
        return context;
    }

    /** Leaves the pipeline; the neighbours are neighbours of each other then. */
    final void leave() {
        if (userSide != null) {
            userSide.networkSide = networkSide;
        }
        if (networkSide != null) {
            networkSide.userSide = userSide;
        }
        context.pipeline().remove(this);
    }

    // The handlers of a closed channel are removed one after another: the pipeline knows whom to
    // pass by.

    /** Gives a message to whoever is next towards the user. */
    final void toUser(Object message) {
        CodecStageHandler next = userSide;
        if (next == null || next.context.isRemoved()) {
            context.fireChannelRead(message);
            return;
        }
        try {
            next.channelRead(next.context, message);
        } catch (Throwable t) {
            // As the pipeline has it: whoever gives a message away hears nothing more of it.
            next.context.fireExceptionCaught(t);
            if (message instanceof InboundCall) {
                next.context.close(); // nobody is left to answer it (RFC 8166, 4.5.4)
            }
        }
    }

    /** Gives a message to whoever is next towards the network. */
    final void toNetwork(Object message, ChannelPromise promise) {
        CodecStageHandler next = networkSide;
        if (next == null || next.context.isRemoved()) {
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
