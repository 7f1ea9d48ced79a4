// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import java.util.ArrayList;
import java.util.List;
import org.rpcrdma.channel.MessageSimulation;
import org.rpcrdma.channel.StreamSimulation;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;

/**
 * Runs the whole stack in a deterministic simulation: servers, clients and rogues, or byte streams, on one virtual
 * clock and a network in memory. A seed determines all that happens.
 */
public final class Simulator {

    /**
     * What has become of one history.
     *
     * @param seed of the history
     * @param steps that were taken
     * @param simulatedNanos that have passed on its clock
     * @param failure what is wrong; {@code null} for nothing
     */
    public record Verdict(long seed, long steps, long simulatedNanos, String failure) {}

    private Simulator() {}

    /**
     * Runs one history of servers and clients on a network that determines it by its seed.
     *
     * @param network a new one
     * @throws AssertionError when something is wrong
     */
    public static void run(SimulatedNetwork network) {
        run(network, SimulationPlan.of(network.seed()));
    }

    static void run(SimulatedNetwork network, SimulationPlan plan) {
        try {
            new SimulatedWorld(network, plan).run();
        } catch (RuntimeException e) {
            throw new AssertionError("the history ends by an exception: " + e, e);
        }
    }

    /** {@return what becomes of the history of servers and clients with a seed} */
    public static Verdict run(long seed) {
        SimulatedNetwork network = new SimulatedNetwork(seed, false);
        return verdict(network, () -> run(network));
    }

    /** {@return what becomes of the history of byte streams with a seed} */
    public static Verdict runStreams(long seed) {
        SimulatedNetwork network = new SimulatedNetwork(seed, false);
        return verdict(network, () -> new StreamSimulation(network).run());
    }

    /** {@return what becomes of the history of byte streams on hosts that fail with a seed} */
    public static Verdict runFailingStreams(long seed) {
        SimulatedNetwork network = new SimulatedNetwork(seed, false);
        return verdict(network, () -> FailingHosts.OfStreams.run(network));
    }

    /** {@return what becomes of the history of message channels without a codec with a seed} */
    public static Verdict runMessages(long seed) {
        SimulatedNetwork network = new SimulatedNetwork(seed, false);
        return verdict(network, () -> new MessageSimulation(network).run());
    }

    /**
     * Looks for a smaller history of a seed that fails, with fewer actions, clients and servers.
     *
     * @param seed of a history of servers and clients that fails
     * @return what happens in it, a line for each event, without deliveries of bytes
     */
    public static List<String> shrink(long seed) {
        String kind = kind(run(seed).failure());
        SimulationPlan plan =
                new PlanShrinker(fewer -> kind.equals(kind(failure(fewer))))
                        .shrink(SimulationPlan.of(seed));
        SimulatedNetwork network = new SimulatedNetwork(seed, true);
        Verdict verdict = verdict(network, () -> run(network, plan));
        List<String> lines =
                new ArrayList<>(
                        network.events()
                                .lines()
                                .filter(line -> !line.contains(" delivers "))
                                .toList());
        lines.add("actions left: " + plan.actions());
        lines.add("in the end: " + verdict.failure());
        return lines;
    }

    private static String failure(SimulationPlan plan) {
        SimulatedNetwork network = new SimulatedNetwork(plan.seed(), false);
        return verdict(network, () -> run(network, plan)).failure();
    }

    /**
     * Of which kind a failure is: its words up to what differs from one history to another, the names of objects and
     * their state. So a smaller history that fails for another reason is not taken for the same.
     */
    static String kind(String failure) {
        return failure == null
                ? ""
                : failure.replace("a simulated thread has ended by an exception", "")
                        .replaceAll("java\\.lang\\.AssertionError", "")
                        .replaceAll("; .*", "")
                        .replaceAll("[0-9]+", "")
                        .replaceAll("[: ]+", " ")
                        .strip();
    }

    private static Verdict verdict(SimulatedNetwork network, Runnable history) {
        long start = network.nanoTime();
        String failure = null;
        try {
            history.run();
        } catch (AssertionError | RuntimeException e) {
            failure = e.getMessage() + (e.getCause() == null ? "" : ": " + e.getCause());
        }
        return new Verdict(network.seed(), network.steps(), network.nanoTime() - start, failure);
    }

    /**
     * Runs histories of one kind until one fails.
     *
     * @param kind {@code world}, {@code stream}, {@code message} or {@code failing}
     * @param first seed
     * @param count of the seeds
     * @return the seed and what is wrong; {@code null} when each history is right
     */
    public static String firstFailure(String kind, long first, long count) {
        for (long seed = first; seed < first + count; seed++) {
            Verdict verdict =
                    switch (kind) {
                        case "stream" -> runStreams(seed);
                        case "message" -> runMessages(seed);
                        case "failing" -> runFailingStreams(seed);
                        default -> run(seed);
                    };
            if (verdict.failure() != null) {
                return "seed " + seed + ": " + verdict.failure();
            }
        }
        return null;
    }
}
