// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.verbs.iwarp.SimulationSeeds;

/** The seeds that {@link WorldSimulationTest} leaves out, so that two JVMs share them. */
class WorldSimulationSecondHalfTest {

    static List<Long> blocks() {
        return SimulationSeeds.halfOfBlocks(WorldSimulationTest.SEEDS, 1);
    }

    @ParameterizedTest(name = "from {0}", allowZeroInvocations = true)
    @MethodSource("blocks")
    void holdsForManySeeds(long first) {
        assertThat(
                        SimulationSeeds.failuresOfBlock(
                                first, WorldSimulationTest.SEEDS, Simulator::run))
                .as("-Dsimulation.seeds=1 -Dsimulation.record=true prints what happens")
                .isEmpty();
    }
}
