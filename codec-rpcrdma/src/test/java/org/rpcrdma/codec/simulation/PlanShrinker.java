// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** Makes a plan that fails smaller, as long as it fails: leaves out halves of the actions, then quarters, then each. */
final class PlanShrinker {

    private static final int MOST_RUNS = 400;

    private final Predicate<SimulationPlan> fails;
    private int runs;

    PlanShrinker(Predicate<SimulationPlan> fails) {
        this.fails = fails;
    }

    SimulationPlan shrink(SimulationPlan plan) {
        SimulationPlan smallest = withFewerClients(plan);
        for (int size = smallest.actions().size() / 2; size >= 1; size /= 2) {
            smallest = without(smallest, size);
        }
        return withFewerClients(smallest);
    }

    private SimulationPlan withFewerClients(SimulationPlan plan) {
        SimulationPlan smallest = plan;
        for (int clients = 1; clients < smallest.clients(); clients++) {
            SimulationPlan fewer = smallest.with(clients, smallest.actions());
            if (isWorse(fewer)) {
                smallest = fewer;
            }
        }
        return smallest;
    }

    /** Leaves out so many actions at a time. */
    private SimulationPlan without(SimulationPlan plan, int size) {
        SimulationPlan smallest = plan;
        for (int from = 0; from < smallest.actions().size(); ) {
            List<SimulationAction> left = new ArrayList<>(smallest.actions());
            left.subList(from, Math.min(from + size, left.size())).clear();
            SimulationPlan fewer = smallest.with(smallest.clients(), left);
            if (isWorse(fewer)) {
                smallest = fewer;
            } else {
                from += size;
            }
        }
        return smallest;
    }

    private boolean isWorse(SimulationPlan plan) {
        return runs++ < MOST_RUNS && fails.test(plan);
    }
}
