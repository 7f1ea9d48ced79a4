// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.iwarp.SimulationSeeds;

/**
 * Byte streams on hosts that fail: a device refuses something, or heap or direct memory is exhausted. Each write ends,
 * other streams are not affected, nothing is left behind, and what can go on with memory that is back does.
 */
class FailingStreamsTest {

    @Test
    void streamsGoOnOrEnd() {
        assertThat(SimulationSeeds.failures(100, FailingHosts.OfStreams::run)).isEmpty();
    }
}
