// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery;

import io.netty.bootstrap.*;
import io.netty.channel.*;
import io.netty.handler.codec.http.*;
import io.netty.handler.codec.http.websocketx.*;
import io.netty.handler.codec.http.websocketx.WebSocketClientProtocolHandler.ClientHandshakeStateEvent;
import java.net.InetAddress;
import java.util.concurrent.*;
import org.rpcrdma.channel.*;

/** A WebSocket of Netty's own handlers, whose server repeats what it hears. */
public final class WebSocketExample {

    private WebSocketExample() {}

    private static ChannelInitializer<Channel> initializer(boolean isServer, CompletableFuture<String> answer) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(isServer ? new HttpServerCodec() : new HttpClientCodec(),
                        new HttpObjectAggregator(1 << 16),
                        isServer ? new WebSocketServerProtocolHandler("/") : new WebSocketClientProtocolHandler(
                                WebSocketClientProtocolConfig.newBuilder().webSocketUri("ws://localhost/").build()),
                        new SimpleChannelInboundHandler<TextWebSocketFrame>() {
                            @Override
                            protected void channelRead0(ChannelHandlerContext ctx, TextWebSocketFrame frame) {
                                if (isServer) {
                                    ctx.writeAndFlush(new TextWebSocketFrame("heard: " + frame.text()));
                                } else {
                                    answer.complete(frame.text());
                                }
                            }
                            @Override
                            public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
                                if (event == ClientHandshakeStateEvent.HANDSHAKE_COMPLETE) {
                                    ctx.writeAndFlush(new TextWebSocketFrame("hello, socket"));
                                }
                            }
                        });
            }
        };
    }

    public static void main(String... args) throws Exception {
        EventLoopGroup group = new RdmaEventLoopGroup(1);
        CompletableFuture<String> answer = new CompletableFuture<>();
        try {
            Channel server = new ServerBootstrap().group(group).channel(RdmaServerStreamChannel.class)
                    .childHandler(initializer(true, answer)).bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
            new Bootstrap().group(group).channel(RdmaStreamChannel.class)
                    .handler(initializer(false, answer)).connect(server.localAddress()).sync();
            System.out.println("frame: " + answer.get());
        } finally {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        }
    }
}
