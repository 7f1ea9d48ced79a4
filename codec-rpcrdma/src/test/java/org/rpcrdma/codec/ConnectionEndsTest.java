// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.rpcrdma.codec.RpcPair.PATIENCE_SECONDS;

import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.rpc.CallOptions;

/** How connections have ended, as it is counted. */
class ConnectionEndsTest {

    private static final Set<RpcRdmaCounter> ENDS =
            EnumSet.range(RpcRdmaCounter.CONNECTIONS_CLOSED_HERE, RpcRdmaCounter.CONNECTIONS_LOST);

    private final RpcRdmaConfig config = RpcRdmaConfig.defaults();
    private final RpcRdmaMetrics serverMetrics = new RpcRdmaMetrics();
    private final RpcRdmaMetrics clientMetrics = new RpcRdmaMetrics();
    private final RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);

    @AfterEach
    void close() {
        group.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /** A call, and then the end of the connection after so many bytes from the server. */
    private int cutAfter(int limit, CutProxy.End end) throws Exception {
        try (ScriptedResponder server =
                        new ScriptedResponder(
                                config,
                                serverMetrics,
                                (channel, connection, call) ->
                                        channel.writeAndFlush(Rpc.reply(Rpc.xid(call))));
                CutProxy proxy =
                        new CutProxy(
                                server.address(), CutProxy.Direction.TO_CONNECTING, end, limit)) {
            RpcRdmaClient client =
                    RpcRdmaClient.builder(group, proxy.address())
                            .metrics(clientMetrics)
                            .backOff(Duration.ofSeconds(1_000), Duration.ofSeconds(1_000))
                            .build();
            client.call(Rpc.echo(0, 0)).get().release();
            int passed = proxy.passed();
            if (limit != Integer.MAX_VALUE) {
                awaitEnd(serverMetrics);
                awaitEnd(clientMetrics);
            }
            client.closeAsync().sync();
            awaitEnd(serverMetrics);
            awaitEnd(clientMetrics);
            return passed;
        }
    }

    private static void awaitEnd(RpcRdmaMetrics metrics) {
        await().until(() -> metrics.connections() == 0);
    }

    private static void assertEnds(RpcRdmaMetrics metrics, RpcRdmaCounter... ends) {
        for (RpcRdmaCounter end : ENDS) {
            assertThat(metrics.value(end))
                    .as(end.toString())
                    .isEqualTo(Set.of(ends).contains(end) ? 1 : 0);
        }
        assertThat(metrics.value(RpcRdmaCounter.CONNECTIONS_CLOSED)).isEqualTo(ends.length);
    }

    @Test
    void aConnectionThatIsClosedEndsHereAndByThePeer() throws Exception {
        cutAfter(Integer.MAX_VALUE, CutProxy.End.FINISH);
        assertEnds(clientMetrics, RpcRdmaCounter.CONNECTIONS_CLOSED_HERE);
        assertEnds(serverMetrics, RpcRdmaCounter.CONNECTIONS_CLOSED_BY_PEER);
    }

    @NeedsDevice("disconnectCause")
    @Test
    void aConnectionThatIsResetIsLost() throws Exception {
        int passed = cutAfter(Integer.MAX_VALUE, CutProxy.End.RESET);
        cutAfter(passed, CutProxy.End.RESET);
        assertEnds(
                clientMetrics,
                RpcRdmaCounter.CONNECTIONS_CLOSED_HERE,
                RpcRdmaCounter.CONNECTIONS_LOST);
        assertEnds(
                serverMetrics,
                RpcRdmaCounter.CONNECTIONS_CLOSED_BY_PEER,
                RpcRdmaCounter.CONNECTIONS_LOST);
    }

    @Test
    void aConnectionThatIsNotToGoOnIsGivenUp() throws Exception {
        try (ScriptedResponder server =
                new ScriptedResponder(
                        config,
                        serverMetrics,
                        (channel, connection, call) ->
                                RpcRdmaConnection.of(channel).link().closeNow("enough", null))) {
            RpcRdmaClient client =
                    RpcRdmaClient.builder(group, server.address())
                            .metrics(clientMetrics)
                            .backOff(Duration.ofSeconds(1_000), Duration.ofSeconds(1_000))
                            .build();
            client.call(Rpc.echo(0, 0), CallOptions.DEFAULT.withRetransmission(false)).await();
            awaitEnd(serverMetrics);
            awaitEnd(clientMetrics);
            client.closeAsync().sync();
        }
        assertEnds(serverMetrics, RpcRdmaCounter.CONNECTIONS_GIVEN_UP);
        assertEnds(clientMetrics, RpcRdmaCounter.CONNECTIONS_CLOSED_BY_PEER);
    }
}
