// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import org.rpcrdma.codec.rpc.ReplyHeader;

/** Hands the replies on a byte stream, and its end, to the calls. One per channel. */
final class StreamReplyHandler extends ChannelInboundHandlerAdapter {

    private final StreamCallController calls;
    private Throwable failure;

    StreamReplyHandler(StreamCallController calls) {
        this.calls = calls;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        boolean isReply = message instanceof ByteBuf reply && ReplyHeader.isIn(reply);
        if (!isReply || !calls.tryReceive((ByteBuf) message)) {
            ctx.fireChannelRead(message);
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        calls.lost(failure);
        ctx.fireChannelInactive();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        failure = cause;
        ctx.close();
    }
}
