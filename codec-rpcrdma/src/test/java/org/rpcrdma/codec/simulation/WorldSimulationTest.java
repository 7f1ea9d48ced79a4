// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;
import org.rpcrdma.verbs.iwarp.SimulationSeeds;

/** Histories of {@link SimulatedWorld}; {@link SimulationSeeds} tells how to run others. */
class WorldSimulationTest {

    /** Of a plain build. */
    static final int SEEDS = 1000;

    @Test
    void holdsForManySeeds() {
        assertThat(SimulationSeeds.failures(SEEDS, Simulator::run))
                .as("-Dsimulation.seeds=1 -Dsimulation.record=true prints what happens")
                .isEmpty();
    }

    @Test
    void aSeedDeterminesTheHistory() {
        for (long seed = 0; seed < 20; seed++) {
            assertThat(history(seed)).isEqualTo(history(seed)).contains("is answered");
        }
    }

    private static String history(long seed) {
        SimulatedNetwork network = new SimulatedNetwork(seed, true);
        Simulator.run(network);
        return network.events() + network.hash();
    }
}
