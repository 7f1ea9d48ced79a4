// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;

/** A crowd of half-done things at one server, whose other clients are served as before. */
class CrowdSimulationTest {

    private static final int OF_EACH_KIND = 100;
    private static final int ACTIONS = 40;

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void othersAreServedBesideACrowd(long seed) {
        Simulator.run(new SimulatedNetwork(seed, false), plan(seed));
    }

    /** Calls and streams before and after the crowd has come. */
    private static SimulationPlan plan(long seed) {
        Random random = new Random(seed);
        List<SimulationAction> actions = new ArrayList<>();
        for (int i = 0; i < ACTIONS; i++) {
            SimulationAction.Kind kind =
                    i == ACTIONS / 4
                            ? SimulationAction.Kind.CROWD
                            : i % 4 == 0
                                    ? SimulationAction.Kind.STREAM
                                    : SimulationAction.Kind.CALL;
            int steps = i == ACTIONS / 4 ? OF_EACH_KIND : random.nextInt(60);
            actions.add(new SimulationAction(i, kind, 0, random.nextLong(), steps));
        }
        return new SimulationPlan(seed, 1, 2, SimulationPlan.Weather.CALM, actions);
    }
}
