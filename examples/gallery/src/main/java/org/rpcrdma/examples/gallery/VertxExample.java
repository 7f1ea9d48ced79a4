// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery;

import io.netty.channel.*;
import io.netty.channel.socket.*;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.vertx.core.*;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.*;
import io.vertx.core.impl.VertxBuilder;
import io.vertx.core.spi.transport.Transport;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.*;

/** HTTP by Vert.x 4.5. Its transport is an SPI that Vert.x calls internal; Vert.x 5 opens it, on Netty 4.2. */
public final class VertxExample implements Transport {

    @Override
    public EventLoopGroup eventLoopGroup(int type, int threads, ThreadFactory factory, int ratio) {
        return new RdmaEventLoopGroup(threads, factory);
    }
    @Override
    public DatagramChannel datagramChannel() { return new NioDatagramChannel(); }
    @Override
    public DatagramChannel datagramChannel(InternetProtocolFamily family) { return new NioDatagramChannel(family); }
    @Override
    public ChannelFactory<? extends Channel> channelFactory(boolean isDomainSocket) { return RdmaStreamChannel::new; }
    @Override
    public ChannelFactory<? extends ServerChannel> serverChannelFactory(boolean isDomainSocket) {
        return RdmaServerStreamChannel::new;
    }

    public static void main(String... args) throws Exception {
        // Vert.x' resolver of names wants a datagram channel on the same loop: the JDK's is taken.
        System.setProperty("vertx.disableDnsResolver", "true");
        VertxOptions options = new VertxOptions().setEventLoopPoolSize(1);
        Vertx vertx = new VertxBuilder(options).findTransport(new VertxExample()).init().vertx();
        HttpServer server = await(vertx.createHttpServer()
                .requestHandler(request -> request.response().end("hello by " + request.version()))
                .listen(0, "127.0.0.1"));
        HttpClient client = vertx.createHttpClient();
        Future<Buffer> answer = client.request(HttpMethod.GET, server.actualPort(), "127.0.0.1", "/")
                .compose(HttpClientRequest::send).compose(HttpClientResponse::body);
        System.out.println("GET: " + await(answer));
        await(client.close());
        await(vertx.close());
    }

    private static <T> T await(Future<T> future) throws Exception {
        return future.toCompletionStage().toCompletableFuture().get(60, TimeUnit.SECONDS);
    }
}
