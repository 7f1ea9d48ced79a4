// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.stream;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
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
import java.io.ByteArrayOutputStream;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** HTTP/2 over RDMA, with prior knowledge: many streams on one connection, each with its own flow control. */
class Http2Test {

    private static final int STREAMS = 20;
    private static final int BODY = 1_000_000;

    /** Sends each frame back; Netty's codec opens the window as they are released. */
    private static final class Echo extends SimpleChannelInboundHandler<Http2StreamFrame> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, Http2StreamFrame frame) {
            if (frame instanceof Http2DataFrame data) {
                ctx.writeAndFlush(
                        new DefaultHttp2DataFrame(data.content().retain(), data.isEndStream()));
            } else if (frame instanceof Http2HeadersFrame) {
                ctx.writeAndFlush(
                        new DefaultHttp2HeadersFrame(new DefaultHttp2Headers().status("200")));
            }
        }
    }

    private static final class Body extends SimpleChannelInboundHandler<Http2StreamFrame> {
        final CompletableFuture<byte[]> whole = new CompletableFuture<>();
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, Http2StreamFrame frame)
                throws Exception {
            if (frame instanceof Http2DataFrame data) {
                data.content().readBytes(bytes, data.content().readableBytes());
                if (data.isEndStream()) {
                    whole.complete(bytes.toByteArray());
                }
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            whole.completeExceptionally(cause);
        }
    }

    private static ChannelHandler multiplex(ChannelHandler inbound) {
        return new Http2MultiplexHandler(
                new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel stream) {
                        stream.pipeline().addLast(inbound);
                    }
                });
    }

    @Test
    void manyStreamsOnOneConnection() throws Exception {
        try (Loops loops = new Loops()) {
            SocketAddress address =
                    loops.serve(
                            channel ->
                                    new ChannelHandler[] {
                                        Http2FrameCodecBuilder.forServer().build(),
                                        new Http2MultiplexHandler(
                                                new ChannelInitializer<Channel>() {
                                                    @Override
                                                    protected void initChannel(Channel stream) {
                                                        stream.pipeline().addLast(new Echo());
                                                    }
                                                })
                                    });
            Channel connection =
                    loops.connect(
                            address,
                            channel ->
                                    new ChannelHandler[] {
                                        Http2FrameCodecBuilder.forClient().build(),
                                        multiplex(new ChannelInboundHandlerAdapter())
                                    });
            List<Body> bodies = new ArrayList<>();
            for (int i = 0; i < STREAMS; i++) {
                Body body = new Body();
                bodies.add(body);
                Http2StreamChannel stream =
                        new Http2StreamChannelBootstrap(connection).handler(body).open().get();
                stream.write(
                        new DefaultHttp2HeadersFrame(
                                new DefaultHttp2Headers()
                                        .method("POST")
                                        .path("/" + i)
                                        .scheme("http")
                                        .authority("localhost")));
                stream.writeAndFlush(
                        new DefaultHttp2DataFrame(
                                Unpooled.wrappedBuffer(Loops.bytes(BODY + i)), true));
            }
            for (int i = 0; i < STREAMS; i++) {
                byte[] body = bodies.get(i).whole.get(Loops.PATIENCE_SECONDS, TimeUnit.SECONDS);
                assertThat(body).isEqualTo(Loops.bytes(BODY + i));
            }
            connection.close().sync();
        }
    }
}
