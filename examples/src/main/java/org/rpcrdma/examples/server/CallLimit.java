// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;

/**
 * Stops reading from a connection with too many calls: on a byte stream nothing else holds a client back, while over
 * RDMA the credits do. A call ends when its reply has left, so one who takes no replies gets no more of them. Goes
 * behind a {@link io.netty.handler.flow.FlowControlHandler}, which keeps the calls that were read at once. One per
 * connection.
 */
final class CallLimit extends ChannelDuplexHandler {

    /** With their arguments and replies some 8 MiB. */
    static final int CALLS_MAX = 4;

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
        ctx.write(message, promise.unvoid().addListener(written -> end(ctx)));
    }

    private void end(ChannelHandlerContext ctx) {
        calls--;
        if (calls == CALLS_MAX - 1) {
            ctx.channel().config().setAutoRead(true);
        }
    }
}
