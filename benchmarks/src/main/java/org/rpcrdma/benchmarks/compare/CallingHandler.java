// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;

/** The client's last handler: it writes the calls of a {@link Driver}, and tells it of the connection's end. */
abstract class CallingHandler extends ChannelInboundHandlerAdapter {

    private final Driver driver;
    private ChannelHandlerContext ctx;

    CallingHandler(Driver.Listener listener) {
        driver =
                new Driver(listener) {
                    @Override
                    EventLoop loop() {
                        return ctx.channel().eventLoop();
                    }

                    @Override
                    void call(Work kind, int id) {
                        write(ctx, kind, id);
                    }

                    @Override
                    void flush() {
                        ctx.flush();
                    }
                };
    }

    /** Writes a call, and leaves the flush to the caller. */
    abstract void write(ChannelHandlerContext context, Work kind, int id);

    final Driver driver() {
        return driver;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext added) {
        ctx = added;
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        context.flush();
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        driver.closed();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        driver.failed(cause);
        context.close();
    }
}
