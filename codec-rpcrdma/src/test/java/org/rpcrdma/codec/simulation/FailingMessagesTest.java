// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.rpcrdma.channel.MessageSimulation;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;
import org.rpcrdma.verbs.iwarp.SimulationSeeds;

/**
 * Message channels without a codec on hosts that fail: a device refuses something, or heap or direct memory is
 * exhausted. Each write ends, and nothing is left behind.
 */
class FailingMessagesTest {

    /** Those of one history. */
    private static final class FailingHosts implements MessageSimulation.Hosts {

        private final SimulatedNetwork network;
        private final List<SimulatedHost> all = new ArrayList<>();

        FailingHosts(SimulatedNetwork network) {
            this.network = network;
        }

        @Override
        public RdmaEventLoopGroup group(Random random) {
            // By revision 1 of MPA an end that was connected to sends nothing before the other one.
            SimulatedHost host =
                    new SimulatedHost(
                            network, SimulatedDevice.usual(), "host " + all.size(), random);
            all.add(host);
            return host.group;
        }

        @Override
        public void beginFaults(Random random) {
            SimulatedHost host = all.get(random.nextInt(all.size()));
            if (random.nextBoolean()) {
                SimulatedFaults.refuse(host, random);
            } else {
                SimulatedFaults.exhaust(host, random);
            }
        }

        void check() {
            for (SimulatedHost host : all) {
                if (host.problem() != null) {
                    throw new AssertionError(host.problem());
                }
            }
        }
    }

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
