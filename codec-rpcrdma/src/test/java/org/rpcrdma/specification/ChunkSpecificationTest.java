// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.specification;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.specification.ChunkSpecification.LeftOut;

/** The invariant holds in each state, and needs each rule. */
class ChunkSpecificationTest {

    @Test
    void theRulesAreEnough() {
        Exploration<?, ?> all = new Exploration<>(new ChunkSpecification(3));
        assertThat(all.counterexample()).isNull();
        assertThat(all.states()).isEqualTo(343);
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NOTHING")
    void noRuleMayBeLeftOut(LeftOut rule) {
        assertThat(new Exploration<>(new ChunkSpecification(2, rule)).counterexample())
                .as("without %s", rule)
                .isNotNull();
    }
}
