// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.stream;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import java.net.SocketAddress;
import java.nio.file.Path;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** HTTP/1.1 over RDMA, in clear and in TLS 1.3: Netty's own codec, with the channel class swapped. */
class HttpTest {

    private static final int MOST = 16 << 20;

    /** Answers with the body of the request. */
    private static ChannelHandler echo() {
        return new SimpleChannelInboundHandler<FullHttpRequest>() {
            @Override
            protected void channelRead0(ChannelHandlerContext ctx, FullHttpRequest request) {
                DefaultFullHttpResponse response =
                        new DefaultFullHttpResponse(
                                HttpVersion.HTTP_1_1,
                                HttpResponseStatus.OK,
                                request.content().retain());
                response.headers()
                        .setInt(HttpHeaderNames.CONTENT_LENGTH, request.content().readableBytes());
                ctx.writeAndFlush(response);
            }
        };
    }

    private static ChannelHandler collect(BlockingQueue<byte[]> bodies) {
        return new SimpleChannelInboundHandler<FullHttpResponse>() {
            @Override
            protected void channelRead0(ChannelHandlerContext ctx, FullHttpResponse response) {
                bodies.add(ByteBufUtil.getBytes(response.content()));
            }
        };
    }

    private static ChannelHandler[] server() {
        return new ChannelHandler[] {new HttpServerCodec(), new HttpObjectAggregator(MOST), echo()};
    }

    private static ChannelHandler[] client(BlockingQueue<byte[]> bodies) {
        return new ChannelHandler[] {
            new HttpClientCodec(), new HttpObjectAggregator(MOST), collect(bodies)
        };
    }

    private static FullHttpRequest post(byte[] body) {
        DefaultFullHttpRequest request =
                new DefaultFullHttpRequest(
                        HttpVersion.HTTP_1_1, HttpMethod.POST, "/", Unpooled.wrappedBuffer(body));
        request.headers().setInt(HttpHeaderNames.CONTENT_LENGTH, body.length);
        return request;
    }

    private static byte[] take(BlockingQueue<byte[]> bodies) throws InterruptedException {
        return bodies.poll(Loops.PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    private static void exchange(Channel channel, BlockingQueue<byte[]> bodies) throws Exception {
        for (int length : new int[] {0, 1, 4000, 100_000, MOST}) {
            channel.writeAndFlush(post(Loops.bytes(length)));
            assertThat(take(bodies)).isEqualTo(Loops.bytes(length));
        }
        for (int i = 0; i < 1000; i++) {
            channel.writeAndFlush(post(Loops.bytes(i)));
        }
        for (int i = 0; i < 1000; i++) {
            assertThat(take(bodies)).isEqualTo(Loops.bytes(i));
        }
        channel.close().sync();
    }

    @Test
    void bodiesOfAnyLengthAndAThousandPipelinedRequests() throws Exception {
        BlockingQueue<byte[]> bodies = new LinkedBlockingQueue<>();
        try (Loops loops = new Loops()) {
            SocketAddress address = loops.serve(channel -> server());
            Channel channel = loops.connect(address, made -> client(bodies));
            exchange(channel, bodies);
        }
    }

    @Test
    void theSameInTls13(@TempDir Path directory) throws Exception {
        BlockingQueue<byte[]> bodies = new LinkedBlockingQueue<>();
        Identity identity = Identity.create(directory);
        SslContext serverTls =
                SslContextBuilder.forServer(identity.keys()).protocols("TLSv1.3").build();
        SslContext clientTls =
                SslContextBuilder.forClient()
                        .trustManager(identity.certificate())
                        .protocols("TLSv1.3")
                        .build();
        try (Loops loops = new Loops()) {
            SocketAddress address =
                    loops.serve(
                            channel ->
                                    new ChannelHandler[] {
                                        serverTls.newHandler(channel.alloc()),
                                        new HttpServerCodec(),
                                        new HttpObjectAggregator(MOST),
                                        echo()
                                    });
            Channel channel =
                    loops.connect(
                            address,
                            made ->
                                    new ChannelHandler[] {
                                        clientTls.newHandler(made.alloc(), "localhost", 0),
                                        new HttpClientCodec(),
                                        new HttpObjectAggregator(MOST),
                                        collect(bodies)
                                    });
            SslHandler tls = channel.pipeline().get(SslHandler.class);
            tls.handshakeFuture().sync();
            assertThat(tls.engine().getSession().getProtocol()).isEqualTo("TLSv1.3");
            exchange(channel, bodies);
        }
    }

    @Test
    void connectionsComeAndGo() throws Exception {
        BlockingQueue<byte[]> bodies = new LinkedBlockingQueue<>();
        try (Loops loops = new Loops()) {
            SocketAddress address = loops.serve(channel -> server());
            for (int i = 0; i < 500; i++) {
                Channel channel = loops.connect(address, made -> client(bodies));
                channel.writeAndFlush(post(Loops.bytes(10)));
                assertThat(take(bodies)).isEqualTo(Loops.bytes(10));
                channel.close().sync();
            }
        }
    }
}
