// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.stream;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.ServerSocketChannel;
import io.netty.resolver.DefaultAddressResolverGroup;
import java.net.InetAddress;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rpcrdma.channel.RdmaServerStreamChannel;
import org.rpcrdma.channel.RdmaStreamChannel;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.ByteBufFlux;
import reactor.netty.DisposableServer;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.server.HttpServer;
import reactor.netty.resources.ConnectionProvider;
import reactor.netty.resources.LoopResources;

/** Reactor Netty over RDMA: its {@code LoopResources} says which channels it takes, and that is all. */
class ReactorNettyTest {

    private static final int REQUESTS = 200;
    private static final Duration PATIENCE = Duration.ofSeconds(Loops.PATIENCE_SECONDS);

    @Test
    void requestsOfAnyLengthAreEchoed() {
        ConnectionProvider connections = connections();
        try (Loops loops = new Loops()) {
            DisposableServer server = serve(loops);
            HttpClient client = client(loops, connections, server);
            for (int length : new int[] {1, 10_000, 5_000_000}) {
                byte[] reply = echo(client, Loops.bytes(length)).block(PATIENCE);
                assertThat(reply).isEqualTo(Loops.bytes(length));
            }
            connections.disposeLater().block(PATIENCE);
            server.disposeNow(PATIENCE);
        }
    }

    @Test
    void manyRequestsShareAPoolOfTwoConnections() {
        ConnectionProvider connections = connections();
        try (Loops loops = new Loops()) {
            DisposableServer server = serve(loops);
            HttpClient client = client(loops, connections, server);
            List<byte[]> replies =
                    Flux.range(0, REQUESTS)
                            .flatMapSequential(i -> echo(client, Loops.bytes(1 + i)))
                            .collectList()
                            .block(PATIENCE);
            assertThat(replies).hasSize(REQUESTS);
            for (int i = 0; i < REQUESTS; i++) {
                assertThat(replies.get(i)).isEqualTo(Loops.bytes(1 + i));
            }
            connections.disposeLater().block(PATIENCE);
            server.disposeNow(PATIENCE);
        }
    }

    private static ConnectionProvider connections() {
        return ConnectionProvider.builder("rdma")
                .maxConnections(2)
                .pendingAcquireMaxCount(REQUESTS)
                .build();
    }

    private static DisposableServer serve(Loops loops) {
        return HttpServer.create()
                .runOn(new RdmaLoops(loops.server))
                .host(InetAddress.getLoopbackAddress().getHostAddress())
                .port(0)
                .route(
                        routes ->
                                routes.post(
                                        "/echo",
                                        (request, response) ->
                                                response.send(request.receive().retain())))
                .bindNow(PATIENCE);
    }

    /** Names are resolved by the JDK: the resolver of Netty wants datagrams, which these loops do not have. */
    private static HttpClient client(
            Loops loops, ConnectionProvider connections, DisposableServer server) {
        return HttpClient.create(connections)
                .runOn(new RdmaLoops(loops.client))
                .resolver(DefaultAddressResolverGroup.INSTANCE)
                .remoteAddress(server::address);
    }

    private static Mono<byte[]> echo(HttpClient client, byte[] request) {
        return client.post()
                .uri("/echo")
                .send(ByteBufFlux.fromInbound(Flux.just(request)))
                .responseContent()
                .aggregate()
                .asByteArray();
    }

    /** Event loops of the test's, which ends them, and the channels that go with them. */
    private record RdmaLoops(EventLoopGroup loops) implements LoopResources {

        @Override
        public EventLoopGroup onServer(boolean useNative) {
            return loops;
        }

        @Override
        public <C extends Channel> C onChannel(Class<C> type, EventLoopGroup group) {
            return cast(isServer(type) ? new RdmaServerStreamChannel() : new RdmaStreamChannel());
        }

        @Override
        public <C extends Channel> Class<? extends C> onChannelClass(
                Class<C> type, EventLoopGroup group) {
            return cast(isServer(type) ? RdmaServerStreamChannel.class : RdmaStreamChannel.class);
        }

        private static boolean isServer(Class<?> type) {
            return ServerSocketChannel.class.isAssignableFrom(type);
        }

        /** These are no {@code SocketChannel}, which Reactor Netty asks for and does not need. */
        @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
        private static <T> T cast(Object object) {
            return (T) object;
        }

        @Override
        public boolean daemon() {
            return true;
        }

        @Override
        public Mono<Void> disposeLater(Duration quietPeriod, Duration timeout) {
            return Mono.empty();
        }
    }
}
