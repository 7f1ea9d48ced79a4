// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.specification;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;

/** Shows that the rules of a machine are enough for its invariants, and that neither has more than the other needs. */
final class SpecificationTests {

    private SpecificationTests() {}

    /** All rules keep all invariants, in each of so many states. */
    static void assertEnough(Specification<?, ?> specification, int states) {
        Exploration<?, ?> all = new Exploration<>(specification);
        assertThat(all.counterexamples()).isEmpty();
        assertThat(all.states()).isEqualTo(states);
    }

    /** Without any one of the rules an invariant is broken, and each invariant is broken without some rule. */
    static <R> void assertNeeded(
            List<R> rules,
            Function<R, Specification<?, ?>> without,
            List<? extends Enum<?>> invariants) {
        Set<Enum<?>> broken = new LinkedHashSet<>();
        List<R> unneeded = new ArrayList<>();
        for (R rule : rules) {
            Set<Enum<?>> violated =
                    new Exploration<>(without.apply(rule)).counterexamples().keySet();
            broken.addAll(violated);
            if (violated.isEmpty()) {
                unneeded.add(rule);
            }
        }
        assertThat(unneeded).as("rules without which nothing is broken").isEmpty();
        assertThat(broken).as("what is broken without a rule").isEqualTo(Set.copyOf(invariants));
    }
}
