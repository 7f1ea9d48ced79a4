// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.path;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import org.rpcrdma.benchmarks.ConnectionMessages;

/** Answers each call at once; the replies to a batch of calls go out with one flush. */
final class PathResponder extends ChannelInboundHandlerAdapter {

    private final PathCall kind;
    private final ByteBuf data;
    private ConnectionMessages messages;
    private Thread thread;
    private long calls;
    private Throwable failure;

    /**
     * @param data that a READ returns; stays the caller's
     */
    PathResponder(PathCall kind, ByteBuf data) {
        this.kind = kind;
        this.data = data;
    }

    long calls() {
        return calls;
    }

    Thread thread() {
        return thread;
    }

    Throwable failure() {
        return failure;
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        thread = Thread.currentThread();
        messages = new ConnectionMessages(ctx.channel());
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        ByteBuf call = (ByteBuf) message;
        int xid = call.getInt(call.readerIndex());
        call.release();
        calls++;
        ctx.write(kind.reply(messages, xid, data), ctx.voidPromise());
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        ctx.flush();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        failure = cause;
    }
}
