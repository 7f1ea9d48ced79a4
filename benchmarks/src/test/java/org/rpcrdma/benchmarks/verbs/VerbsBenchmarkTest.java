// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.verbs;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.netty.channel.epoll.Epoll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** That each carrier ends each exchange: a run that hangs would be found late otherwise. */
class VerbsBenchmarkTest {

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
}
