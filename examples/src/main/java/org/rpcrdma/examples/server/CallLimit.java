// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;

/**
 * Stops reading from a connection with too many calls at work: on a byte stream nothing else holds a client back, while
 * over RDMA the credits do. One per connection.
 */
final class CallLimit extends ChannelDuplexHandler {

    private static final int CALLS_MAX = 128;

    private int calls;

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        calls++;
        if (calls == CALLS_MAX) {
            ctx.channel().config().setAutoRead(false);
        }
        ctx.fireChannelRead(message);
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        calls--;
        if (calls == CALLS_MAX / 2) {
            ctx.channel().config().setAutoRead(true);
        }
        ctx.write(message, promise);
    }
}
