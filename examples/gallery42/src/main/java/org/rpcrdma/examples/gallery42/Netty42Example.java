// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery42;

import io.netty.bootstrap.*;
import io.netty.buffer.*;
import io.netty.channel.*;
import io.netty.channel.socket.SocketChannel;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.*;
import org.rpcrdma.channel.*;
import org.rpcrdma.channel.io.RdmaIoHandler;

/** As the program echo, on Netty 4.2's own event loops: the factory and the channel class differ from TCP. */
public final class Netty42Example {

    private Netty42Example() {}

    public static void main(String... args) throws Exception {
        EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, RdmaIoHandler.newFactory());
        CompletableFuture<String> answer = new CompletableFuture<>();
        try {
            Channel server = new ServerBootstrap()
                    .group(group)
                    .channel(RdmaServerStreamChannel.class)
                    .childHandler(new ChannelInitializer<SocketChannel>() {
                        @Override
                        protected void initChannel(SocketChannel channel) {
                            channel.pipeline().addLast(new ChannelInboundHandlerAdapter() {
                                @Override
                                public void channelRead(ChannelHandlerContext ctx, Object message) {
                                    ctx.writeAndFlush(message);
                                }
                            });
                        }
                    })
                    .bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
            Channel client = new Bootstrap()
                    .group(group)
                    .channel(RdmaStreamChannel.class)
                    .handler(new SimpleChannelInboundHandler<ByteBuf>() {
                        @Override
                        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf message) {
                            answer.complete(message.toString(StandardCharsets.UTF_8));
                        }
                    })
                    .connect(server.localAddress()).sync().channel();
            client.writeAndFlush(ByteBufUtil.writeUtf8(client.alloc(), "hello, stream"));
            System.out.println("echoed: " + answer.get());
            client.close().sync();
        } finally {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        }
    }
}
