// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.collection.IntObjectHashMap;
import java.nio.channels.ClosedChannelException;

/** The client's RPC handler, the same on every transport: matches each reply to its call by XID. */
final class RequesterHandler extends ChannelDuplexHandler {

    /** Told on the event loop. */
    interface Listener {
        /**
         * @param length of the whole reply, in bytes
         */
        void replied(int length);

        void failed(Throwable cause);
    }

    private final IntObjectHashMap<Boolean> outstanding = new IntObjectHashMap<>();
    private final Listener listener;

    RequesterHandler(Listener listener) {
        this.listener = listener;
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        ByteBuf call = (ByteBuf) message;
        outstanding.put(call.getInt(call.readerIndex() + Nfs3Messages.XID_OFFSET), Boolean.TRUE);
        ctx.write(message, promise);
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        ByteBuf reply = (ByteBuf) message;
        try {
            int xid = reply.getInt(reply.readerIndex() + Nfs3Messages.XID_OFFSET);
            if (outstanding.remove(xid) == null) {
                listener.failed(new IllegalStateException("reply to nobody's call: XID " + xid));
                return;
            }
            listener.replied(reply.readableBytes());
        } finally {
            ReferenceCountUtil.release(reply);
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        listener.failed(new ClosedChannelException());
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        listener.failed(cause);
        ctx.close();
    }
}
