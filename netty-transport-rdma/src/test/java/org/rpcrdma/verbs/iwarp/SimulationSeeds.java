// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import io.netty.util.ResourceLeakDetector;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Runs a simulation with a range of seeds. System properties set the range and have the histories printed:
 *
 * <ul>
 *   <li>{@code simulation.first}: the first seed, 0 by default
 *   <li>{@code simulation.seeds}: how many
 *   <li>{@code simulation.record}: {@code true} to print the history of each seed
 * </ul>
 */
public final class SimulationSeeds {

    private static final long FIRST = Long.getLong("simulation.first", 0);
    private static final Long COUNT = Long.getLong("simulation.seeds");
    private static final boolean IS_RECORDED = Boolean.getBoolean("simulation.record");

    private static final int BLOCK = 100;

    private SimulationSeeds() {}

    /**
     * Runs it with each seed.
     *
     * @param count how many seeds, unless a property says so
     * @param simulation throws {@link AssertionError} when something is wrong
     * @return a line for each seed that fails
     */
    public static List<String> failures(long count, Consumer<SimulatedNetwork> simulation) {
        return failures(FIRST, end(count), simulation);
    }

    /**
     * The first seeds of blocks, each of which is a test that takes no longer than one may.
     *
     * @param count how many seeds all blocks have, unless a property says so
     */
    public static List<Long> blocks(long count) {
        List<Long> blocks = new ArrayList<>();
        for (long first = FIRST; first < end(count); first += BLOCK) {
            blocks.add(first);
        }
        return blocks;
    }

    /**
     * As {@link #blocks(long)}, but every other one, so that two classes of tests have half of the seeds each: they run
     * in JVMs of their own, where no history meets the memory limits of another one.
     *
     * @param half 0 or 1; the first one has block 0
     */
    public static List<Long> halfOfBlocks(long count, int half) {
        return blocks(count).stream().filter(first -> (first - FIRST) / BLOCK % 2 == half).toList();
    }

    /**
     * As {@link #failures(long, Consumer)}, of one block. Netty's leak detector, which takes a tenth of the time, sees
     * the first one: each history counts its memory itself.
     *
     * @param first one of {@link #blocks}
     * @param count as there
     */
    public static List<String> failuresOfBlock(
            long first, long count, Consumer<SimulatedNetwork> simulation) {
        ResourceLeakDetector.Level level = ResourceLeakDetector.getLevel();
        if (first != FIRST) {
            ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
        }
        try {
            return failures(first, Math.min(first + BLOCK, end(count)), simulation);
        } finally {
            ResourceLeakDetector.setLevel(level);
        }
    }

    private static long end(long count) {
        return FIRST + (COUNT == null ? count : COUNT);
    }

    private static List<String> failures(
            long first, long end, Consumer<SimulatedNetwork> simulation) {
        List<String> failures = new ArrayList<>();
        for (long seed = first; seed < end; seed++) {
            SimulatedNetwork network = new SimulatedNetwork(seed, IS_RECORDED);
            try {
                simulation.accept(network);
            } catch (AssertionError e) {
                String cause = e.getCause() == null ? "" : ": " + e.getCause();
                failures.add("-Dsimulation.first=" + seed + ": " + e.getMessage() + cause);
            }
            if (IS_RECORDED) {
                System.out.println(network.events());
            }
        }
        return failures;
    }
}
