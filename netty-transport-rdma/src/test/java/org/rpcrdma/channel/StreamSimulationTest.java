// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;
import org.rpcrdma.verbs.iwarp.SimulationSeeds;

/** Histories of {@link StreamSimulation}; {@link SimulationSeeds} tells how to run others. */
class StreamSimulationTest {

    @Test
    void holdsForManySeeds() {
        assertThat(SimulationSeeds.failures(400, network -> new StreamSimulation(network).run()))
                .as("-Dsimulation.seeds=1 -Dsimulation.record=true prints what happens")
                .isEmpty();
    }

    @Test
    void aSeedDeterminesTheHistory() {
        for (long seed = 0; seed < 3; seed++) {
            assertThat(history(seed)).isEqualTo(history(seed)).contains("delivers");
        }
    }

    private static String history(long seed) {
        SimulatedNetwork network = new SimulatedNetwork(seed, true);
        new StreamSimulation(network).run();
        return network.events() + network.hash();
    }
}
