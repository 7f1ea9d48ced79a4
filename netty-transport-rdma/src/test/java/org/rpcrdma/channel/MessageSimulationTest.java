// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.iwarp.SimulationSeeds;

/** Histories of {@link MessageSimulation}; {@link SimulationSeeds} tells how to run others. */
class MessageSimulationTest {

    @Test
    void holdsForManySeeds() {
        assertThat(SimulationSeeds.failures(400, network -> new MessageSimulation(network).run()))
                .as("-Dsimulation.seeds=1 -Dsimulation.record=true prints what happens")
                .isEmpty();
    }
}
