// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What the benchmarks measure works on every transport. */
class RpcBenchmarkTest {

    private static final int CALLS = 100;

    @ParameterizedTest
    @EnumSource
    void everyCallIsAnsweredOnEveryTransport(Transport transport) throws Exception {
        assumeTrue(transport.isAvailable(), "this is not Linux");
        RpcBenchmark benchmark = new RpcBenchmark();
        RpcBenchmark.Payload payload = new RpcBenchmark.Payload();
        benchmark.transport = transport;
        benchmark.start();
        try {
            benchmark.nullRoundTrip();
            benchmark.readRoundTrip();
            for (int i = 0; i < CALLS; i++) {
                benchmark.nullPipelined();
            }
            benchmark.drain();
            for (int i = 0; i < CALLS; i++) {
                benchmark.readPipelined(payload);
            }
            benchmark.drain();
        } finally {
            benchmark.stop();
        }
        assertThat(payload.megabytes()).isEqualTo((CALLS << 20) / 1e6);
    }
}
