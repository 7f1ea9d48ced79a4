// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

/**
 * Tells an operator in one line what a server channel over RDMA has met, such as the end of its device. The channel
 * itself rests or closes, as it has to.
 */
@Sharable
final class ListenerProblems extends ChannelInboundHandlerAdapter {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(ListenerProblems.class);

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        LOGGER.warn("A server channel has a problem: {}", cause.getMessage());
        LOGGER.debug("It is", cause);
    }
}
