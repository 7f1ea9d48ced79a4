// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.specification;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.rpcrdma.specification.PullCompletionSpecification.Invariant;
import org.rpcrdma.specification.PullCompletionSpecification.Rule;

/** The invariants hold in each state, and each of them and each rule needs the other. */
class PullCompletionSpecificationTest {

    @Test
    void theRulesAreEnough() {
        SpecificationTests.assertEnough(new PullCompletionSpecification(true), 234);
    }

    @Test
    void noRuleMayBeLeftOut() {
        SpecificationTests.assertNeeded(
                List.of(Rule.values()),
                rule -> new PullCompletionSpecification(true, rule),
                List.of(Invariant.values()));
    }
}
