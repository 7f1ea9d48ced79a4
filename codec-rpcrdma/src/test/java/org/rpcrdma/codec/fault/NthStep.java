// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.fault;

import java.util.function.Consumer;
import java.util.function.Predicate;

/** Does something at one step: the nth of those that count. */
public final class NthStep implements FaultPlan {

    private final int at;
    private final Predicate<Step> counts;
    private final Consumer<Step> action;
    private int steps;
    private volatile Step reached;

    /** @param at from 0 */
    public NthStep(int at, Predicate<Step> counts, Consumer<Step> action) {
        this.at = at;
        this.counts = counts;
        this.action = action;
    }

    /** The step, or {@code null} when there were fewer. */
    public Step reached() {
        return reached;
    }

    private void count(Step step) {
        if (counts.test(step) && steps++ == at) {
            reached = step;
            action.accept(step);
        }
    }

    @Override
    public void before(Step step) {
        count(step);
    }

    @Override
    public void after(Step step) {
        count(step);
    }
}
