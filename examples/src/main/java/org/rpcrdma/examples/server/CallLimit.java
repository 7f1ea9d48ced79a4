// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import java.util.ArrayDeque;

/**
 * Stops reading from a connection with too many calls, and keeps those that were read with them: on a byte stream
 * nothing else holds a client back, while over RDMA the credits do. A call ends when its reply has left, so one who
 * takes no replies gets no more of them. One per connection.
 */
final class CallLimit extends ChannelDuplexHandler {

    /** With their arguments and replies some 8 MiB. */
    static final int CALLS_MAX = 4;

    /** The type of a message (RFC 5531, section 9). */
    private static final int REPLY = 1;

    /** At most what is in one read from the socket, and it is in that read's buffer. */
    private final ArrayDeque<Object> waiting = new ArrayDeque<>();

    private final ConnectionLimit connections;
    private int calls;
    private boolean isDelivering;

    /** @param connections is told what this one is used for */
    CallLimit(ConnectionLimit connections) {
        this.connections = connections;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        ByteBuf record = (ByteBuf) message;
        if (record.readableBytes() >= 8 && record.getInt(record.readerIndex() + 4) == REPLY) {
            // Nobody answers it, so it would be at work for ever.
            record.release();
            ctx.close();
            return;
        }
        connections.used(ctx.channel());
        waiting.add(message);
        deliver(ctx);
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        ctx.write(message, promise.unvoid().addListener(written -> end(ctx)));
    }

    private void end(ChannelHandlerContext ctx) {
        connections.used(ctx.channel());
        calls--;
        deliver(ctx);
    }

    /** Not from inside itself, where a call is answered at once: the loop that is under way goes on. */
    private void deliver(ChannelHandlerContext ctx) {
        if (isDelivering) {
            return;
        }
        isDelivering = true;
        while (calls < CALLS_MAX && !waiting.isEmpty()) {
            calls++;
            ctx.fireChannelRead(waiting.remove());
        }
        isDelivering = false;
        boolean reads = calls < CALLS_MAX;
        if (ctx.channel().config().isAutoRead() != reads) {
            ctx.channel().config().setAutoRead(reads);
        }
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        waiting.forEach(ReferenceCountUtil::release);
        waiting.clear();
    }
}
