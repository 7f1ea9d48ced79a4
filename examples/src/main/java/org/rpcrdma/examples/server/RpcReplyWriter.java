// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import org.apache.hadoop.oncrpc.RpcResponse;

/**
 * Sends a program's replies. Hadoop's stage for that writes record marks; here the framing codec does it where there is
 * a need, so this stage is the same on every transport.
 */
@ChannelHandler.Sharable
final class RpcReplyWriter extends ChannelInboundHandlerAdapter {

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        ctx.writeAndFlush(((RpcResponse) message).content());
    }
}
