// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.rpcrdma.channel.MessageSimulation;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;
import org.rpcrdma.verbs.iwarp.SimulationSeeds;

/**
 * Message channels without a codec on hosts that fail: a device refuses something, or heap or direct memory is
 * exhausted. Each write ends, and nothing is left behind.
 */
class FailingMessagesTest {

    @Test
    void eachWriteEndsAndNothingIsLeft() {
        assertThat(SimulationSeeds.failures(200, FailingMessagesTest::run)).isEmpty();
    }

    private static void run(SimulatedNetwork network) {
        FailingHosts hosts = new FailingHosts(network);
        new MessageSimulation(network, hosts).run();
        hosts.check();
    }
}
