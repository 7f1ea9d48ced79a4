// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoop;
import org.rpcrdma.benchmarks.Transport;

/** A side whose protocol is a byte stream's: the channels of a transport carry its handlers, and nothing else. */
abstract class ByteStreamSide extends NettySide {

    private final Transport transport;
    private final Tools tools;

    ByteStreamSide(Transport transport, Tools tools) {
        this.transport = transport;
        this.tools = tools;
    }

    final Tools tools() {
        return tools;
    }

    /** The handlers of a connection that the server has accepted. */
    abstract void addServerHandlers(ChannelPipeline pipeline);

    @Override
    public final String listen() throws Exception {
        ChannelInitializer<Channel> connections =
                new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        addServerHandlers(channel.pipeline());
                    }
                };
        return transport.toText(
                transport
                        .bareServer(tools.group(), connections)
                        .bind(transport.serverAddress(tools.directory()))
                        .sync()
                        .channel()
                        .localAddress());
    }

    /** A connected channel with these handlers. */
    final Channel connect(String address, ChannelHandler... handlers) throws Exception {
        ChannelInitializer<Channel> connection =
                new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(handlers);
                    }
                };
        return transport
                .bareClient(tools.group(), connection)
                .connect(transport.fromText(address))
                .sync()
                .channel();
    }

    /** The client's last handler, of a protocol that answers in the order of the calls. */
    abstract static class AnswersInOrder extends ChannelInboundHandlerAdapter {

        private final Driver driver;
        private ChannelHandlerContext ctx;
        private int answered;

        AnswersInOrder(Driver.Listener listener) {
            driver =
                    new Driver(listener) {
                        @Override
                        EventLoop loop() {
                            return ctx.channel().eventLoop();
                        }

                        @Override
                        void call(Work kind, int id) {
                            write(ctx, kind);
                        }

                        @Override
                        void flush() {
                            ctx.flush();
                        }
                    };
        }

        /** Writes a call, and leaves the flush to the caller. */
        abstract void write(ChannelHandlerContext context, Work work);

        final Driver driver() {
            return driver;
        }

        /** The oldest call in flight is answered. */
        final void answered() {
            driver.answered(++answered);
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
}
