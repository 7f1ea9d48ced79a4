// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;
import org.rpcrdma.verbs.iwarp.SimulationSeeds;

/**
 * Histories of {@link SimulatedWorld}; {@link SimulationSeeds} tells how to run others. {@link
 * WorldSimulationSecondHalfTest} has every other block of seeds.
 */
class WorldSimulationTest {

    /** Of a plain build. */
    static final int SEEDS = 1000;

    static List<Long> blocks() {
        return SimulationSeeds.halfOfBlocks(SEEDS, 0);
    }

    @ParameterizedTest(name = "from {0}")
    @MethodSource("blocks")
    void holdsForManySeeds(long first) {
        assertThat(SimulationSeeds.failuresOfBlock(first, SEEDS, Simulator::run))
                .as("-Dsimulation.seeds=1 -Dsimulation.record=true prints what happens")
                .isEmpty();
    }

    /** Seeds that have failed, each for a reason of its own. */
    @ParameterizedTest
    @ValueSource(
            longs = {
                0, 22, 31, 86, 174, 200, 233, 544, 725, 747, 998, 1347, 1636, 1640, 1739, 1848,
                4391, 7679, 8399, 9549, 20284
            })
    void holdsForSeedsThatHaveFailed(long seed) {
        assertThat(Simulator.run(seed).failure()).isNull();
    }

    /** A smaller history has to fail for the same reason; numbers and the thread that was told do not count. */
    @Test
    void aFailureHasAKind() {
        String lost =
                "a simulated thread has ended by an exception: java.lang.AssertionError: call 1 of"
                        + " client 0 ends";
        assertThat(Simulator.kind(lost))
                .isEqualTo(Simulator.kind("call 22 of client 3 ends"))
                .isNotEqualTo(Simulator.kind("client 3 is not served any more"));
        assertThat(Simulator.kind("not so: all calls end; not ended: call 7"))
                .isEqualTo(Simulator.kind("not so: all calls end"));
        assertThat(Simulator.kind(null)).isEmpty();
    }

    @Test
    void aSeedDeterminesTheHistory() {
        for (long seed = 0; seed < 20; seed++) {
            assertThat(history(seed)).isEqualTo(history(seed)).contains("is answered");
        }
    }

    /** Its rogue uses keys as data, so what the peer does next depends on their random part. */
    @Test
    void theStagsOfAHistoryAreOfItsSeed() {
        String history = history(186);
        for (int i = 0; i < 8; i++) {
            assertThat(history(186)).isEqualTo(history);
        }
    }

    private static String history(long seed) {
        SimulatedNetwork network = new SimulatedNetwork(seed, true);
        Simulator.run(network);
        return network.events() + network.hash();
    }
}
