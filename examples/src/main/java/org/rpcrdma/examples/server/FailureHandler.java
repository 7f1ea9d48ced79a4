// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends a connection that has failed, and is where the end of a connection ends: the programs have nothing to do then, and
 * when the server is closed too the event loop may be gone before the event comes back from their threads.
 */
@ChannelHandler.Sharable
final class FailureHandler extends ChannelInboundHandlerAdapter {

    private static final Logger LOG = LoggerFactory.getLogger(FailureHandler.class);

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        // Not passed on.
    }

    @Override
    public void channelUnregistered(ChannelHandlerContext ctx) {
        // Not passed on.
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        LOG.info("{} is closed: {}", ctx.channel(), cause.toString());
        ctx.close();
    }
}
