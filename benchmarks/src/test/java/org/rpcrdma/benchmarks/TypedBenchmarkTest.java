// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rpcrdma.benchmarks.TypedBenchmark.Way;

/** What the benchmark measures works in both ways at both ends: it fails where a call does. */
class TypedBenchmarkTest {

    private static final int CALLS = 100;

    @ParameterizedTest
    @CsvSource({"BY_HAND, BY_HAND", "BY_HAND, TYPED", "TYPED, BY_HAND", "TYPED, TYPED"})
    void everyCallIsAnswered(Way requester, Way responder) throws Exception {
        TypedBenchmark benchmark = new TypedBenchmark();
        benchmark.requester = requester;
        benchmark.responder = responder;
        benchmark.start();
        try {
            benchmark.roundTrip();
            for (int i = 0; i < CALLS; i++) {
                benchmark.pipelined();
            }
            benchmark.drain();
        } finally {
            benchmark.stop();
        }
    }
}
