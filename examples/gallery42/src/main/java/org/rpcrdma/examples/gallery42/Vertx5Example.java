// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery42;

import io.netty.channel.*;
import io.netty.channel.socket.*;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.vertx.core.*;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.*;
import io.vertx.core.spi.transport.Transport;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.*;
import org.rpcrdma.channel.io.RdmaIoHandler;

/** HTTP by Vert.x 5, whose transport is a public SPI. Its resolver's datagrams go over the same loops. */
public final class Vertx5Example implements io.vertx.core.transport.Transport, Transport {

    @Override
    public String name() { return "rdma"; }
    @Override
    public boolean available() { return true; }
    @Override
    public Throwable unavailabilityCause() { return null; }
    @Override
    public Transport implementation() { return this; }

    @Override
    public IoHandlerFactory ioHandlerFactory() { return RdmaIoHandler.newFactory(); }
    @Override
    public DatagramChannel datagramChannel() { return new NioDatagramChannel(); }
    @Override
    @SuppressWarnings("deprecation") // the SPI's own type
    public DatagramChannel datagramChannel(InternetProtocolFamily family) { return new NioDatagramChannel(family); }
    @Override
    public ChannelFactory<? extends Channel> channelFactory(boolean isDomainSocket) { return RdmaStreamChannel::new; }
    @Override
    public ChannelFactory<? extends ServerChannel> serverChannelFactory(boolean isDomainSocket) {
        return RdmaServerStreamChannel::new;
    }

    public static void main(String... args) throws Exception {
        Vertx vertx = Vertx.builder().with(new VertxOptions().setEventLoopPoolSize(1))
                .withTransport(new Vertx5Example()).build();
        HttpServer server = await(vertx.createHttpServer()
                .requestHandler(request -> request.response().end("hello by " + request.version()))
                .listen(0, "127.0.0.1"));
        HttpClient client = vertx.createHttpClient();
        Future<Buffer> answer = client.request(HttpMethod.GET, server.actualPort(), "localhost", "/")
                .compose(HttpClientRequest::send).compose(HttpClientResponse::body);
        System.out.println("GET: " + await(answer));
        await(client.close());
        await(vertx.close());
    }

    private static <T> T await(Future<T> future) throws Exception {
        return future.toCompletionStage().toCompletableFuture().get(60, TimeUnit.SECONDS);
    }
}
