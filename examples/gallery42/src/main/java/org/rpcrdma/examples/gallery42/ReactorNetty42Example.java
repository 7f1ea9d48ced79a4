// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery42;

import io.netty.channel.*;
import io.netty.channel.socket.*;
import io.netty.channel.socket.nio.NioDatagramChannel;
import java.time.Duration;
import org.rpcrdma.channel.*;
import org.rpcrdma.channel.io.RdmaIoHandler;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.server.HttpServer;
import reactor.netty.resources.*;

/** HTTP by Reactor Netty 1.3: its public {@code LoopResources} names group and channels, its resolver's too. */
public final class ReactorNetty42Example {

    private ReactorNetty42Example() {}

    private record RdmaLoops(EventLoopGroup group) implements LoopResources {
        @Override
        public EventLoopGroup onServer(boolean useNative) { return group; }
        @Override
        public <C extends Channel> C onChannel(Class<C> type, EventLoopGroup loops) {
            return type.cast(type == DatagramChannel.class ? new NioDatagramChannel()
                    : isServer(type) ? new RdmaServerStreamChannel() : new RdmaStreamChannel());
        }
        @Override
        public <C extends Channel> Class<? extends C> onChannelClass(Class<C> type, EventLoopGroup loops) {
            return (type == DatagramChannel.class ? NioDatagramChannel.class
                    : isServer(type) ? RdmaServerStreamChannel.class : RdmaStreamChannel.class).asSubclass(type);
        }
        @Override
        public boolean daemon() { return false; }
        @Override
        public Mono<Void> disposeLater(Duration quiet, Duration timeout) {
            return Mono.<Void>create(done -> group.shutdownGracefully(0, 10, java.util.concurrent.TimeUnit.SECONDS)
                    .addListener(ended -> done.success()));
        }
        private static boolean isServer(Class<?> type) { return ServerSocketChannel.class.isAssignableFrom(type); }
    }

    public static void main(String... args) {
        LoopResources loops = new RdmaLoops(
                new MultiThreadIoEventLoopGroup(1, RdmaIoHandler.newFactory()));
        ConnectionProvider connections = ConnectionProvider.create("rdma");
        DisposableServer server = HttpServer.create().runOn(loops).host("127.0.0.1").port(0)
                .route(routes -> routes.get("/", (request, response) ->
                        response.sendString(Mono.just("hello by " + request.protocol()))))
                .bindNow();
        String answer = HttpClient.create(connections).runOn(loops)
                .host("localhost").port(server.port()).get().uri("/").responseContent().aggregate().asString().block();
        System.out.println("GET: " + answer);
        connections.disposeLater().block();
        server.disposeNow();
        loops.disposeLater().block();
    }
}
