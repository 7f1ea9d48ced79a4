// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.verbs;

import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.netty.channel.epoll.Epoll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** That each carrier ends each exchange: a run that hangs would be found late otherwise. */
class VerbsBenchmarkTest {

    /** No multiple of a window, nor of a number of connections. */
    private static final int COUNT = 50;

    @ParameterizedTest
    @EnumSource
    void everyExchangeEnds(VerbsBenchmark.Carrier carrier) throws Exception {
        assumeTrue(
                carrier == VerbsBenchmark.Carrier.IWARP
                        || carrier == VerbsBenchmark.Carrier.SOCKET
                        || Epoll.isAvailable(),
                "this is not Linux");
        try (Exchange exchange = carrier.open(20_000)) {
            for (int window : new int[] {1, 16}) {
                exchange.sends(COUNT, window);
                exchange.writes(COUNT, window);
                exchange.reads(COUNT, window);
            }
        }
    }

    /** The smaller count is less than a window of each connection. */
    @ParameterizedTest
    @ValueSource(ints = {COUNT, 500})
    void exchangesOfSeveralConnectionsEnd(int count) throws Exception {
        try (Exchange exchange = VerbsBenchmark.Carrier.IWARP.open(1000, 7)) {
            exchange.sends(count, 16);
            exchange.writes(count, 16);
            exchange.reads(count, 16);
        }
    }

    @Test
    void otherCarriersHaveOneConnection() {
        assertThatThrownBy(() -> VerbsBenchmark.Carrier.RING.open(1000, 2))
                .hasMessage("connections: 2 (expected: 1 of RING)");
    }
}
