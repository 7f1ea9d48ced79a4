// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery;

import io.netty.bootstrap.*;
import io.netty.channel.*;
import io.netty.handler.codec.http.*;
import java.io.File;
import java.net.InetAddress;
import java.nio.file.*;
import java.util.concurrent.*;
import org.rpcrdma.channel.*;

/** An HTTP/1.1 server that sends a file as a {@code FileRegion}, and a client that counts its bytes. */
public final class HttpFilesExample {

    private HttpFilesExample() {}

    public static void main(String... args) throws Exception {
        Path file = Files.write(Files.createTempFile("gallery", ".bin"), new byte[1_000_000]);
        EventLoopGroup group = new RdmaEventLoopGroup(1);
        CompletableFuture<String> answer = new CompletableFuture<>();
        try {
            Channel server = new ServerBootstrap().group(group).channel(RdmaServerStreamChannel.class)
                    .childHandler(new ChannelInitializer<>() {
                        @Override
                        protected void initChannel(Channel channel) {
                            channel.pipeline().addLast(new HttpServerCodec(), new Sender(file.toFile()));
                        }
                    }).bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
            Channel client = new Bootstrap().group(group).channel(RdmaStreamChannel.class)
                    .handler(new ChannelInitializer<>() {
                        @Override
                        protected void initChannel(Channel channel) {
                            channel.pipeline().addLast(new HttpClientCodec(), new HttpObjectAggregator(1 << 20),
                                    new SimpleChannelInboundHandler<FullHttpResponse>() {
                                        @Override
                                        protected void channelRead0(ChannelHandlerContext ctx, FullHttpResponse got) {
                                            answer.complete(got.status() + ", " + got.content().readableBytes());
                                        }
                                    });
                        }
                    }).connect(server.localAddress()).sync().channel();
            client.writeAndFlush(new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/"));
            System.out.println("GET: " + answer.get() + " bytes");
        } finally {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
            Files.delete(file);
        }
    }

    private static final class Sender extends SimpleChannelInboundHandler<HttpRequest> {
        private final File file;
        private Sender(File file) { this.file = file; }
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, HttpRequest request) {
            HttpResponse head = new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK);
            HttpUtil.setContentLength(head, file.length());
            ctx.write(head);
            ctx.write(new DefaultFileRegion(file, 0, file.length()));
            ctx.writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT);
        }
    }
}
