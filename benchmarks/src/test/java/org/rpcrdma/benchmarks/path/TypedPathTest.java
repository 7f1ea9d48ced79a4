// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.path;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Compares what a call takes by the typed layer with what it takes a program that reads and writes each word. */
class TypedPathTest {

    /** Reader, writer and decoder, which live as long as the call is written or its reply is read. */
    private static final int BYTES_MORE = 72;

    @Test
    void aTypedCallIsNoLongerThanOneByHand() throws Exception {
        List<PathLength> byHand = PathLength.measure("by hand");
        assumeFalse(byHand.isEmpty(), "without Unsafe Netty's paths are other ones");
        List<PathLength> typed = PathLength.measure("typed");
        for (int i = 0; i < typed.size(); i++) {
            assertThat(typed.get(i).entries())
                    .as("method entries of the %s", typed.get(i).role.label)
                    .isLessThanOrEqualTo(byHand.get(i).entries());
            assertThat(typed.get(i).bytes())
                    .as("bytes on the heap of the %s", typed.get(i).role.label)
                    .isLessThanOrEqualTo(byHand.get(i).bytes() + BYTES_MORE);
        }
    }
}
