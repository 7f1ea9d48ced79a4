// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.specification;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.rpcrdma.specification.ChunkSpecification.Invariant;
import org.rpcrdma.specification.ChunkSpecification.Rule;

/** The invariants hold in each state, and each of them and each rule needs the other. */
class ChunkSpecificationTest {

    @Test
    void theRulesAreEnough() {
        SpecificationTests.assertEnough(new ChunkSpecification(2), 196);
    }

    @Test
    void noRuleMayBeLeftOut() {
        SpecificationTests.assertNeeded(
                List.of(Rule.values()),
                rule -> new ChunkSpecification(2, rule),
                List.of(Invariant.values()));
    }
}
