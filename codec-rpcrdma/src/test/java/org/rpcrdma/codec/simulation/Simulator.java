// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import org.rpcrdma.channel.StreamSimulation;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;

/**
 * Runs the whole stack in a deterministic simulation: servers, clients and rogues on one virtual clock and a network in
 * memory. A seed determines all that happens.
 */
public final class Simulator {

    private Simulator() {}

    /**
     * Runs one history on a network that determines it by its seed.
     *
     * @param network a new one
     * @throws AssertionError when something is wrong
     */
    public static void run(SimulatedNetwork network) {
        run(network, SimulationPlan.of(network.seed()));
    }

    /**
     * Runs histories of one kind until one fails.
     *
     * @param kind {@code world} or {@code stream}
     * @param first seed
     * @param count of the seeds
     * @return the seed and what is wrong; {@code null} when each history is right
     */
    public static String firstFailure(String kind, long first, long count) {
        for (long seed = first; seed < first + count; seed++) {
            SimulatedNetwork network = new SimulatedNetwork(seed, false);
            try {
                if (kind.equals("stream")) {
                    new StreamSimulation(network).run();
                } else {
                    run(network);
                }
            } catch (AssertionError | RuntimeException e) {
                return "seed " + seed + ": " + e.getMessage();
            }
        }
        return null;
    }

    static void run(SimulatedNetwork network, SimulationPlan plan) {
        try {
            new SimulatedWorld(network, plan).run();
        } catch (RuntimeException e) {
            throw new AssertionError("the history ends by an exception", e);
        }
    }
}
