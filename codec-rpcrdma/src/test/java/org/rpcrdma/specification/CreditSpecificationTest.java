// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.specification;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.rpcrdma.specification.CreditSpecification.Invariant;
import org.rpcrdma.specification.CreditSpecification.Rule;

/** The invariants hold in each state, and each of them and each rule needs the other. */
class CreditSpecificationTest {

    @Test
    void theRulesAreEnough() {
        SpecificationTests.assertEnough(new CreditSpecification(4, 3), 520);
    }

    @Test
    void noRuleMayBeLeftOut() {
        SpecificationTests.assertNeeded(
                List.of(Rule.values()),
                rule -> new CreditSpecification(4, 3, rule),
                List.of(Invariant.values()));
    }
}
