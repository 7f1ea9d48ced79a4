// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

import io.netty.buffer.ByteBuf;
import io.netty.util.NetUtil;
import io.netty.util.concurrent.DefaultPromise;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.concurrent.ImmediateEventExecutor;
import io.netty.util.concurrent.Promise;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.client.ResponderLocator;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.rpc.CallOptions;
import org.rpcrdma.codec.rpcbind.RpcbindClient;
import org.rpcrdma.codec.rpcbind.RpcbindServer;

/** A client whose responder has several addresses, or is found by rpcbind. */
class ResponderLocatorTest {

    private final RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);

    @AfterEach
    void shutDown() throws Exception {
        group.shutdownGracefully(0, RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
    }

    private RpcRdmaClient client(ResponderLocator locator) {
        return RpcRdmaClient.builder(group, locator)
                .backOff(java.time.Duration.ofMillis(1), java.time.Duration.ofMillis(1))
                .build();
    }

    private static void exchange(RpcRdmaClient client, ScriptedResponder responder)
            throws Exception {
        Future<ByteBuf> call = client.call(Rpc.echo(0, 8));
        responder.take().reply(Rpc.reply(0));
        call.get(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS).release();
    }

    @Test
    void addressesAreTriedInTurnAfterALossAndAfterAFailedAttempt() throws Exception {
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        try (ScriptedResponder first = ScriptedResponder.manual(config);
                ScriptedResponder third = ScriptedResponder.manual(config)) {
            SocketAddress nobody = new InetSocketAddress(NetUtil.LOCALHOST4, 1);
            RpcRdmaClient client =
                    client(ResponderLocator.of(List.of(first.address(), nobody, third.address())));
            exchange(client, first);
            // A call that is out when the connection is lost is sent again to the next one that
            // answers.
            Future<ByteBuf> call = client.call(Rpc.echo(0, 8));
            first.take();
            first.accepted.get(0).close().sync();
            third.take().reply(Rpc.reply(0));
            call.get(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS).release();
            // After the last one the first one is tried again.
            third.accepted.get(0).close().sync();
            await().until(() -> client.openConnections().isEmpty());
            exchange(client, first);
            assertThat(first.accepted).hasSize(2);
            assertThat(third.accepted).hasSize(1);
            client.close();
        }
    }

    /** What an earlier attempt has failed by says nothing of the connection that was made then. */
    @Test
    void aLossIsNotBlamedOnAnEarlierAttempt() throws Exception {
        try (ScriptedResponder responder = ScriptedResponder.manual(RpcRdmaConfig.defaults())) {
            SocketAddress nobody = new InetSocketAddress(NetUtil.LOCALHOST4, 1);
            RpcRdmaClient client =
                    client(ResponderLocator.of(List.of(nobody, responder.address())));
            assertThat(client.connect().await().cause()).isInstanceOf(ConnectException.class);
            exchange(client, responder);
            Future<ByteBuf> call =
                    client.call(Rpc.echo(0, 8), CallOptions.DEFAULT.withRetransmission(false));
            responder.take();
            responder.accepted.get(0).close().sync();
            assertThat(call.await().cause())
                    .isInstanceOf(ConnectionLostException.class)
                    .hasNoCause();
            client.close();
        }
    }

    /** After a loss rpcbind is asked again: the service may have moved. */
    @Test
    @Proves({"V1-BIND-04", "V1-BIND-05", "API-19"})
    void aServiceIsFoundByRpcbindAlsoAfterItHasMoved() throws Exception {
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        try (RpcbindServer rpcbind = new RpcbindServer();
                ScriptedResponder before = ScriptedResponder.manual(config);
                ScriptedResponder after = ScriptedResponder.manual(config)) {
            RpcRdmaClient client =
                    client(
                            ResponderLocator.of(
                                    RpcbindClient.overStream(rpcbind.tcp()), Rpc.NFS, 3));
            assertThat(client.connect().await().cause())
                    .hasMessageContaining("program 100003 version 3 is not registered");
            rpcbind.put(Rpc.NFS, 3, "tcp", "127.0.0.1.8.1");
            rpcbind.put(Rpc.NFS, 3, "rdma", universal(before));
            exchange(client, before);
            rpcbind.put(Rpc.NFS, 3, "rdma", universal(after));
            before.accepted.get(0).close().sync();
            await().until(() -> client.openConnections().isEmpty());
            exchange(client, after);
            assertThat(client)
                    .hasToString(
                            "RpcRdmaClient(program 100003 of rpcbind at 127.0.0.1:"
                                    + rpcbind.tcp().getPort()
                                    + ", 1 of 1 connections, 0 calls outstanding)");
            client.close();
        }
    }

    private static String universal(ScriptedResponder responder) {
        return NetId.universalAddress(responder.address());
    }

    @Test
    void aLookupThatFailsThrowsOrFindsNothingFailsTheAttempt() throws Exception {
        AtomicInteger lookups = new AtomicInteger();
        RpcRdmaClient client =
                client(
                        () ->
                                switch (lookups.getAndIncrement()) {
                                    case 0 -> throw new IllegalStateException("thrown");
                                    case 1 ->
                                            ImmediateEventExecutor.INSTANCE.newFailedFuture(
                                                    new IllegalStateException("failed"));
                                    default ->
                                            GlobalEventExecutor.INSTANCE.newSucceededFuture(
                                                    List.of());
                                });
        assertThat(client.connect().await().cause()).hasMessage("thrown");
        assertThat(client.connect().await().cause()).hasMessage("failed");
        assertThat(client.connect().await().cause()).hasMessageContaining("has no address");
        client.close();
    }

    @Test
    void aLookupThatFindsNullFailsTheAttempt() throws Exception {
        AtomicInteger lookups = new AtomicInteger();
        RpcRdmaClient client =
                client(
                        () ->
                                switch (lookups.getAndIncrement()) {
                                    case 0 -> null;
                                    case 1 ->
                                            ImmediateEventExecutor.INSTANCE.newSucceededFuture(
                                                    null);
                                    case 2 ->
                                            ImmediateEventExecutor.INSTANCE.newSucceededFuture(
                                                    Collections.singletonList(null));
                                    default ->
                                            GlobalEventExecutor.INSTANCE.submit(
                                                    () -> Collections.singletonList(null));
                                });
        for (int i = 0; i < 4; i++) {
            Future<Void> connecting = client.connect();
            assertThat(connecting.await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
            assertThat(connecting.cause()).isInstanceOf(NullPointerException.class);
        }
        client.closeAsync().sync();
        assertThat(lookups).hasValue(4);
    }

    @Test
    void closingEndsALookupAndLaterAddressesAreNotUsed() throws Exception {
        try (ScriptedResponder responder = ScriptedResponder.manual(RpcRdmaConfig.defaults())) {
            Promise<List<SocketAddress>> lookup =
                    new DefaultPromise<>(GlobalEventExecutor.INSTANCE);
            RpcRdmaClient client = client(() -> lookup);
            Future<Void> connecting = client.connect();
            client.close();
            assertThat(connecting.await().cause()).isInstanceOf(ClosedChannelException.class);
            lookup.setSuccess(List.of(responder.address()));
            GlobalEventExecutor.INSTANCE.submit(() -> {}).sync();
            group.submit(() -> {}).sync();
            assertThat(responder.accepted).isEmpty();
        }
    }

    @Test
    void aLookupThatDoesNotEndIsGivenUp() throws Exception {
        RpcRdmaClient client =
                RpcRdmaClient.builder(
                                group, () -> new DefaultPromise<>(GlobalEventExecutor.INSTANCE))
                        .connectTimeout(java.time.Duration.ofMillis(1))
                        .build();
        assertThat(client.connect().await().cause()).hasMessageContaining("within 1 ms");
        client.close();
    }

    @Test
    void thereIsAtLeastOneAddress() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ResponderLocator.of(List.of()))
                .withMessageContaining("at least one");
    }
}
