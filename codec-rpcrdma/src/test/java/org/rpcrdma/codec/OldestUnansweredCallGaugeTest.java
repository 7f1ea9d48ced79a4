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
class OldestUnansweredCallGaugeTest {

    private static final class Call extends CallListedByAge {}

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void theOldestOfAnyCallsIsPublished(int seed) {
        Random random = new Random(seed);
        ConnectionMetrics metrics = new ConnectionMetrics(new RpcRdmaMetrics());
        OldestUnansweredCallGauge ages =
                new OldestUnansweredCallGauge(metrics, RpcRdmaRole.REQUESTER);
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

    private static RpcPair counted(RpcRdmaMetrics client, RpcRdmaMetrics server) throws Exception {
        return RpcPair.of(
                CodecEnd.of(RpcPair.usual().build(), client),
                CodecEnd.of(RpcPair.usual().build(), server));
    }

    @Test
    void aCallThatNobodyAnswersGrowsOldAtBothEnds() throws Exception {
        RpcRdmaMetrics client = new RpcRdmaMetrics();
        RpcRdmaMetrics server = new RpcRdmaMetrics();
        try (RpcPair pair = counted(client, server)) {
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
        RpcRdmaMetrics client = new RpcRdmaMetrics();
        RpcRdmaMetrics server = new RpcRdmaMetrics();
        client.oldestCallNanos(RpcRdmaRole.REQUESTER);
        server.oldestCallNanos(RpcRdmaRole.RESPONDER);
        try (RpcPair pair = counted(client, server)) {
            pair.call(Rpc.echo(1, 8));
            assertThat(pair.server.takeXid()).isEqualTo(1);
            assertThat(server.oldestCallNanos(RpcRdmaRole.RESPONDER)).isPositive();
            pair.clientChannel.close().sync();
            assertThat(pair.server.awaitInactive()).isTrue();
            await().until(() -> server.oldestCallNanos(RpcRdmaRole.RESPONDER) == 0);
            await().until(() -> client.oldestCallNanos(RpcRdmaRole.REQUESTER) == 0);
        }
    }

    /** No list is kept while nobody measures times. */
    @Test
    void whatBeganBeforeAnybodyAskedIsLeftOut() throws Exception {
        RpcRdmaMetrics client = new RpcRdmaMetrics();
        try (RpcPair pair = counted(client, new RpcRdmaMetrics())) {
            pair.call(Rpc.echo(1, 8));
            assertThat(pair.server.takeXid()).isEqualTo(1);
            assertThat(client.oldestCallNanos(RpcRdmaRole.REQUESTER)).isZero();
            pair.reply(Rpc.reply(1));
            pair.client.takeBytes();
            pair.call(Rpc.echo(2, 8));
            assertThat(pair.server.takeXid()).isEqualTo(2);
            assertThat(client.oldestCallNanos(RpcRdmaRole.REQUESTER)).isPositive();
        }
    }
}
