// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import org.apache.hadoop.oncrpc.RpcResponse;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends a program's replies. Hadoop's stage for that writes record marks; here the framing codec does it where there is
 * a need, so this stage is the same on every transport.
 */
@ChannelHandler.Sharable
final class RpcReplyWriter extends ChannelInboundHandlerAdapter {

    private static final Logger LOG = LoggerFactory.getLogger(RpcReplyWriter.class);

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        ctx.writeAndFlush(((RpcResponse) message).content());
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        LOG.info("{} is closed: {}", ctx.channel(), cause.toString());
        ctx.close();
    }
}
