// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.verbs;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.netty.channel.epoll.Epoll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** That each carrier ends each exchange: a run that hangs would be found late otherwise. */
class VerbsBenchmarkTest {

    @ParameterizedTest
    @EnumSource
    void everyExchangeEnds(VerbsBenchmark.Carrier carrier) throws Exception {
        assumeTrue(
                carrier == VerbsBenchmark.Carrier.IWARP
                        || carrier == VerbsBenchmark.Carrier.SOCKET
                        || Epoll.isAvailable(),
                "this is not Linux");
        VerbsBenchmark benchmark = new VerbsBenchmark();
        benchmark.carrier = carrier;
        benchmark.bytes = 20_000;
        benchmark.open();
        try {
            benchmark.sendRoundTrip();
            benchmark.sendPipelined();
            benchmark.writeRoundTrip();
            benchmark.writePipelined();
            benchmark.read();
            benchmark.readPipelined();
        } finally {
            benchmark.close();
        }
    }
}
