// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import org.rpcrdma.examples.rpc.Printable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Ends a connection that has failed. */
final class FailureHandler extends ChannelInboundHandlerAdapter {

    private static final Logger LOG = LoggerFactory.getLogger(FailureHandler.class);

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        LOG.info("{} is closed: {}", ctx.channel(), Printable.of(cause));
        ctx.close();
    }
}
