// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoop;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2StreamChannel;
import io.netty.handler.codec.http2.Http2StreamChannelBootstrap;
import io.netty.handler.codec.http2.Http2StreamFrame;
import io.netty.util.concurrent.Future;
import org.rpcrdma.benchmarks.Transport;

/** HTTP/2 with prior knowledge, as Netty has it: each GET is a stream, its path is how many bytes are wanted. */
final class Http2Side extends ByteStreamSide {

    Http2Side(Transport transport, Tools tools) {
        super(transport, tools);
    }

    @Override
    void addServerHandlers(ChannelPipeline pipeline) {
        ChannelHandler streams =
                new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel stream) {
                        stream.pipeline().addLast(new Answering());
                    }
                };
        pipeline.addLast(
                Http2FrameCodecBuilder.forServer().build(), new Http2MultiplexHandler(streams));
    }

    @Override
    Driver open(String address, Driver.Listener listener) throws Exception {
        Channel connection =
                connect(
                        address,
                        Http2FrameCodecBuilder.forClient().build(),
                        new Http2MultiplexHandler(new ChannelInboundHandlerAdapter()));
        Gets gets = new Gets(connection, listener);
        connection.closeFuture().addListener(closed -> gets.closed());
        return gets;
    }

    private final class Answering extends SimpleChannelInboundHandler<Http2StreamFrame> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, Http2StreamFrame frame) {
            if (frame instanceof Http2HeadersFrame get) {
                int bytes = Integer.parseInt(get.headers().path().toString().substring(1));
                ctx.write(new DefaultHttp2HeadersFrame(new DefaultHttp2Headers().status("200")));
                ctx.writeAndFlush(
                        new DefaultHttp2DataFrame(tools().memory().retainedSlice(0, bytes), true));
            }
        }
    }

    private static final class Gets extends Driver {

        private final Channel connection;

        Gets(Channel connection, Listener listener) {
            super(listener);
            this.connection = connection;
        }

        @Override
        EventLoop loop() {
            return connection.eventLoop();
        }

        @Override
        void call(Work kind, int id) {
            new Http2StreamChannelBootstrap(connection)
                    .handler(new Answer(id))
                    .open()
                    .addListener((Future<Http2StreamChannel> opened) -> get(opened, kind));
        }

        private void get(Future<Http2StreamChannel> opened, Work work) {
            if (!opened.isSuccess()) {
                failed(opened.cause());
                return;
            }
            opened.getNow()
                    .writeAndFlush(
                            new DefaultHttp2HeadersFrame(
                                    new DefaultHttp2Headers()
                                            .method("GET")
                                            .path("/" + work.bytes())
                                            .scheme("http")
                                            .authority("localhost"),
                                    true));
        }

        @Override
        void flush() {
            connection.flush();
        }

        private final class Answer extends SimpleChannelInboundHandler<Http2StreamFrame> {

            private final int id;

            Answer(int id) {
                this.id = id;
            }

            @Override
            protected void channelRead0(ChannelHandlerContext ctx, Http2StreamFrame frame) {
                if (frame instanceof Http2DataFrame data && data.isEndStream()) {
                    answered(id);
                }
            }

            @Override
            public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
                failed(cause);
            }
        }
    }
}
