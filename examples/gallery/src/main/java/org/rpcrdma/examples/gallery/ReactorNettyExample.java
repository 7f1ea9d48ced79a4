// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery;

import io.netty.channel.*;
import io.netty.channel.socket.ServerSocketChannel;
import io.netty.resolver.DefaultAddressResolverGroup;
import java.time.Duration;
import org.rpcrdma.channel.*;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.server.HttpServer;
import reactor.netty.resources.*;

/** HTTP by Reactor Netty: its public {@code LoopResources} names group and channels. */
public final class ReactorNettyExample {

    private ReactorNettyExample() {}

    private record RdmaLoops(EventLoopGroup group) implements LoopResources {
        @Override
        public EventLoopGroup onServer(boolean useNative) { return group; }
        @Override
        public <C extends Channel> C onChannel(Class<C> type, EventLoopGroup loops) {
            return type.cast(isServer(type) ? new RdmaServerStreamChannel() : new RdmaStreamChannel());
        }
        @Override
        public <C extends Channel> Class<? extends C> onChannelClass(Class<C> type, EventLoopGroup loops) {
            return (isServer(type) ? RdmaServerStreamChannel.class : RdmaStreamChannel.class).asSubclass(type);
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
        LoopResources loops = new RdmaLoops(new RdmaEventLoopGroup(1));
        ConnectionProvider connections = ConnectionProvider.create("rdma");
        DisposableServer server = HttpServer.create().runOn(loops).host("127.0.0.1").port(0)
                .route(routes -> routes.get("/", (request, response) ->
                        response.sendString(Mono.just("hello by " + request.protocol()))))
                .bindNow();
        // Netty's DNS resolver wants datagrams, which these loops do not have.
        String answer = HttpClient.create(connections).runOn(loops).resolver(DefaultAddressResolverGroup.INSTANCE)
                .remoteAddress(server::address).get().uri("/").responseContent().aggregate().asString().block();
        System.out.println("GET: " + answer);
        connections.disposeLater().block();
        server.disposeNow();
        loops.disposeLater().block();
    }
}
