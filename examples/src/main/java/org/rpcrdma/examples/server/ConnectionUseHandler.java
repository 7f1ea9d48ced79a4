// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import org.rpcrdma.codec.rpc.ReplyHeader;

/** Tells a {@link ConnectionLimit} of the whole calls of a connection and of the replies that were taken. */
@Sharable
final class ConnectionUseHandler extends ChannelDuplexHandler {

    private final ConnectionLimit connections;

    ConnectionUseHandler(ConnectionLimit connections) {
        this.connections = connections;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (message instanceof ByteBuf record && ReplyHeader.isIn(record)) {
            // This server makes no calls, so there are none.
            record.release();
            ctx.close();
            return;
        }
        connections.used(ctx.channel());
        ctx.fireChannelRead(message);
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        ctx.write(
                message, promise.unvoid().addListener(written -> connections.used(ctx.channel())));
    }
}
