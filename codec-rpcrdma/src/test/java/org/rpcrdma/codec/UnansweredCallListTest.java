// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The age of the oldest call without an answer. */
class UnansweredCallListTest {

    private static final class Call extends UnansweredCallListNode {}

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void theOldestOfAnyCallsIsPublished(int seed) {
        Random random = new Random(seed);
        ConnectionMetrics metrics = new ConnectionMetrics(new RpcRdmaMetrics());
        UnansweredCallList ages = new UnansweredCallList(metrics, RpcRdmaRole.REQUESTER);
        List<Call> model = new ArrayList<>();
        List<Call> spares = new ArrayList<>();
        for (int now = 1; now < 2_000; now++) {
            if (model.isEmpty() || random.nextBoolean()) {
                Call call = spares.isEmpty() ? new Call() : spares.remove(0);
                ages.add(call, now);
                model.add(call);
            } else {
                Call ended = model.remove(random.nextInt(Math.min(4, model.size())));
                ages.remove(ended);
                assertThat(ended.isListed).isFalse();
                spares.add(ended);
            }
            long expected = model.isEmpty() ? 0 : now - model.get(0).since;
            assertThat(metrics.oldestCallNanos(RpcRdmaRole.REQUESTER, now)).isEqualTo(expected);
            assertThat(metrics.oldestCallNanos(RpcRdmaRole.RESPONDER, now)).isZero();
        }
    }

    @Test
    void aCallThatNobodyAnswersGrowsOldAtBothEnds() throws Exception {
        RpcRdmaConfig clientConfig = RpcPair.usual().build();
        RpcRdmaConfig serverConfig = RpcPair.usual().build();
        RpcRdmaMetrics client = clientConfig.metrics();
        RpcRdmaMetrics server = serverConfig.metrics();
        try (RpcPair pair = RpcPair.of(clientConfig, serverConfig)) {
            assertThat(client.oldestCallNanos(RpcRdmaRole.REQUESTER)).isZero();
            assertThat(server.oldestCallNanos(RpcRdmaRole.RESPONDER)).isZero();
            long before = System.nanoTime();
            pair.call(Rpc.echo(1, 8));
            assertThat(pair.server.takeXid()).isEqualTo(1);

            long first = client.oldestCallNanos(RpcRdmaRole.REQUESTER);
            assertThat(first).isPositive().isLessThanOrEqualTo(System.nanoTime() - before);
            assertThat(server.oldestCallNanos(RpcRdmaRole.RESPONDER)).isPositive();
            assertThat(client.oldestCallNanos(RpcRdmaRole.RESPONDER)).isZero();
            assertThat(server.oldestCallNanos(RpcRdmaRole.REQUESTER)).isZero();
            pair.reply(Rpc.reply(1));
            pair.client.takeBytes();
            await().until(() -> server.oldestCallNanos(RpcRdmaRole.RESPONDER) == 0);
            await().until(() -> client.oldestCallNanos(RpcRdmaRole.REQUESTER) == 0);
        }
    }

    @Test
    void noCallIsOutWhenTheConnectionIsLost() throws Exception {
        RpcRdmaConfig clientConfig = RpcPair.usual().build();
        RpcRdmaConfig serverConfig = RpcPair.usual().build();
        clientConfig.metrics().oldestCallNanos(RpcRdmaRole.REQUESTER);
        serverConfig.metrics().oldestCallNanos(RpcRdmaRole.RESPONDER);
        try (RpcPair pair = RpcPair.of(clientConfig, serverConfig)) {
            pair.call(Rpc.echo(1, 8));
            assertThat(pair.server.takeXid()).isEqualTo(1);
            assertThat(serverConfig.metrics().oldestCallNanos(RpcRdmaRole.RESPONDER)).isPositive();
            pair.clientChannel.close().sync();
            assertThat(pair.server.awaitInactive()).isTrue();
            await().until(() -> serverConfig.metrics().oldestCallNanos(RpcRdmaRole.RESPONDER) == 0);
            assertThat(clientConfig.metrics().oldestCallNanos(RpcRdmaRole.REQUESTER)).isZero();
        }
    }

    /** No list is kept while nobody measures times. */
    @Test
    void whatBeganBeforeAnybodyAskedIsLeftOut() throws Exception {
        RpcRdmaConfig config = RpcPair.usual().build();
        try (RpcPair pair = RpcPair.of(config, RpcPair.usual().build())) {
            pair.call(Rpc.echo(1, 8));
            assertThat(pair.server.takeXid()).isEqualTo(1);
            assertThat(config.metrics().oldestCallNanos(RpcRdmaRole.REQUESTER)).isZero();
            pair.reply(Rpc.reply(1));
            pair.client.takeBytes();
            pair.call(Rpc.echo(2, 8));
            assertThat(pair.server.takeXid()).isEqualTo(2);
            assertThat(config.metrics().oldestCallNanos(RpcRdmaRole.REQUESTER)).isPositive();
        }
    }
}
