// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.concurrent.RejectedExecutionException;
import org.apache.hadoop.oncrpc.RpcResponse;

/**
 * Sends a program's replies. Hadoop's stage for that writes record marks; here the framing codec does it where there is
 * a need, so this stage is the same on every transport.
 */
@ChannelHandler.Sharable
final class RpcReplyWriter extends ChannelInboundHandlerAdapter {

    /**
     * Whoever waits for a reply that there was no memory to send asks again on another connection. Other replies that
     * fail are answered for by the codec, or their connection is lost.
     */
    private static final ChannelFutureListener UNANSWERED =
            written -> {
                if (written.cause() instanceof Error) {
                    written.channel().pipeline().fireExceptionCaught(written.cause());
                }
            };

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        ctx.writeAndFlush(((RpcResponse) message).content()).addListener(UNANSWERED);
    }

    /**
     * Sends a reply from a program's thread. To the channel and not to a context: when the connection is lost
     * meanwhile, the handlers are gone, but the channel still shows the reply to the duplicate request cache
     * ({@link org.rpcrdma.codec.RpcRdmaCodec}).
     *
     * @param reply belongs to the channel from now on
     */
    static void send(Channel channel, ByteBuf reply) {
        try {
            channel.eventLoop().execute(() -> channel.writeAndFlush(reply).addListener(UNANSWERED));
        } catch (RejectedExecutionException e) {
            reply.release(); // the server is closed
        }
    }
}
