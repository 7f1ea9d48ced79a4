// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.specification;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.specification.CreditSpecification.LeftOut;

/** The invariants hold in each state, and need each rule. */
class CreditSpecificationTest {

    @Test
    void theRulesAreEnough() {
        Exploration<?, ?> all = new Exploration<>(new CreditSpecification());
        assertThat(all.counterexample()).isNull();
        assertThat(all.states()).isEqualTo(391);
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NOTHING")
    void noRuleMayBeLeftOut(LeftOut rule) {
        assertThat(new Exploration<>(new CreditSpecification(rule)).counterexample())
                .as("without %s", rule)
                .isNotNull();
    }
}
