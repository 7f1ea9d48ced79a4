// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.path;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.ReferenceCountUtil;
import org.rpcrdma.benchmarks.ConnectionMessages;

/** Makes a call for each reply; what a batch of replies was followed by goes out with one flush. */
final class PathRequester extends ChannelInboundHandlerAdapter {

    /** XIDs are large, as those of usual clients: not to be taken for a record mark of TCP. */
    private static final int FIRST_XID = 0x5EED_0000;

    private final PathCall call;
    private final ByteBuf data;
    private ChannelHandlerContext ctx;
    private ConnectionMessages messages;
    private Thread thread;
    private long replies;
    private int xid = FIRST_XID;
    private Throwable failure;

    /**
     * @param data of a WRITE; stays the caller's
     */
    PathRequester(PathCall call, ByteBuf data) {
        this.call = call;
        this.data = data;
    }

    long replies() {
        return replies;
    }

    Thread thread() {
        return thread;
    }

    Throwable failure() {
        return failure;
    }

    /** Makes so many calls, on the event loop. */
    void start(int outstanding) {
        ctx.executor().execute(() -> begin(outstanding));
    }

    private void begin(int outstanding) {
        thread = Thread.currentThread();
        messages = new ConnectionMessages(ctx.channel());
        for (int i = 0; i < outstanding; i++) {
            call();
        }
        ctx.flush();
    }

    private void call() {
        ctx.write(call.call(messages, ++xid, data), ctx.voidPromise());
    }

    @Override
    public void handlerAdded(ChannelHandlerContext added) {
        ctx = added;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        ReferenceCountUtil.release(message);
        replies++;
        call();
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        context.flush();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        failure = cause;
    }
}
