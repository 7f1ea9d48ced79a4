// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery;

import io.netty.bootstrap.*;
import io.netty.channel.*;
import io.netty.handler.codec.http2.*;
import java.net.InetAddress;
import java.util.concurrent.*;
import org.rpcrdma.channel.*;

/** HTTP/2 with prior knowledge: three requests, each on a stream of its own, over one connection. */
public final class Http2Example {

    private Http2Example() {}

    private static ChannelInitializer<Channel> initializer(Http2FrameCodecBuilder codec, ChannelHandler streams) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(codec.build(), new Http2MultiplexHandler(streams));
            }
        };
    }

    @ChannelHandler.Sharable
    private static final class Answer extends SimpleChannelInboundHandler<Http2HeadersFrame> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, Http2HeadersFrame request) {
            Http2Headers headers = new DefaultHttp2Headers().status("200").add("path", request.headers().path());
            ctx.writeAndFlush(new DefaultHttp2HeadersFrame(headers, true));
        }
    }

    public static void main(String... args) throws Exception {
        EventLoopGroup group = new RdmaEventLoopGroup(1);
        try {
            Channel server = new ServerBootstrap().group(group).channel(RdmaServerStreamChannel.class)
                    .childHandler(initializer(Http2FrameCodecBuilder.forServer(), new Answer()))
                    .bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
            Channel client = new Bootstrap().group(group).channel(RdmaStreamChannel.class)
                    .handler(initializer(Http2FrameCodecBuilder.forClient(), new Answer()))
                    .connect(server.localAddress()).sync().channel();
            for (String path : new String[] {"/a", "/b", "/c"}) {
                CompletableFuture<String> answer = new CompletableFuture<>();
                Channel stream = new Http2StreamChannelBootstrap(client)
                        .handler(new SimpleChannelInboundHandler<Http2HeadersFrame>() {
                            @Override
                            protected void channelRead0(ChannelHandlerContext ctx, Http2HeadersFrame got) {
                                answer.complete(got.headers().status() + " " + got.headers().get("path"));
                            }
                        }).open().get();
                stream.writeAndFlush(new DefaultHttp2HeadersFrame(new DefaultHttp2Headers()
                        .method("GET").path(path).scheme("http").authority("localhost"), true));
                System.out.println("stream: " + answer.get());
            }
        } finally {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        }
    }
}
