// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.rpcrdma.channel.MessageSimulation;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.StreamSimulation;
import org.rpcrdma.codec.fault.Step;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;

/** Hosts of a history without a codec, one of which fails: its device refuses something, or it has no memory. */
class FailingHosts implements MessageSimulation.Hosts {

    final List<SimulatedHost> all = new ArrayList<>();
    private final SimulatedNetwork network;

    FailingHosts(SimulatedNetwork network) {
        this.network = network;
    }

    @Override
    public RdmaEventLoopGroup group(Random random) {
        // By revision 1 of MPA an end that was connected to sends nothing before the other one.
        SimulatedHost host =
                new SimulatedHost(network, SimulatedDevice.usual(), "host " + all.size(), random);
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

    /** Those of byte streams: memory comes back, and often it is all that is lacking. */
    static final class OfStreams extends FailingHosts {

        private static final int MOST_KEYS = 3;

        private boolean isMendable;

        OfStreams(SimulatedNetwork network) {
            super(network);
        }

        /** Runs a history. */
        static void run(SimulatedNetwork network) {
            OfStreams hosts = new OfStreams(network);
            new StreamSimulation(network, hosts).run();
            hosts.check();
        }

        @Override
        public RdmaEventLoopGroup group(Random random) {
            // Streams of one event loop share its memory.
            if (all.size() == 2 && random.nextBoolean()) {
                return all.get(1).group;
            }
            RdmaEventLoopGroup group = super.group(random);
            if (random.nextInt(4) == 0) {
                all.get(all.size() - 1).context().needMemoryAtOnce();
            }
            return group;
        }

        @Override
        public void beginFaults(Random random) {
            SimulatedHost host = all.get(random.nextInt(all.size()));
            switch (random.nextInt(6)) {
                case 0 -> {
                    isMendable = true;
                    host.takeRegisteredMemory(
                            1 + random.nextInt(SimulatedFaults.MOST_MILLIS),
                            1 << (8 + random.nextInt(7)));
                }
                case 1 -> {
                    isMendable = true;
                    host.exhaustMemory(random.nextInt(6), 1 + random.nextInt(200), false);
                }
                // Few of all calls to a device register what one Write takes.
                case 2 -> host.refuse(random.nextInt(6), Step.REGISTER);
                default -> super.beginFaults(random);
            }
        }

        @Override
        public boolean isMendable() {
            return isMendable;
        }

        @Override
        public int mostLost() {
            return isMendable
                    ? 0
                    : all.stream().mapToInt(host -> host.failures() + host.refusals()).sum();
        }

        @Override
        public void recover() {
            all.forEach(SimulatedHost::recover);
        }

        /** A stream has told its peer of its table and of two buffers; a full one is not the peer's any more. */
        @Override
        public void checkNow() {
            for (SimulatedHost host : all) {
                if (host.context().queuePairs().stream()
                        .anyMatch(pair -> pair.keys() > MOST_KEYS)) {
                    throw new AssertionError("a stream of " + host + " has too many keys out");
                }
                String timer = host.timerOfEnded();
                if (timer != null) {
                    throw new AssertionError("a timer is left: " + timer);
                }
            }
        }
    }
}
