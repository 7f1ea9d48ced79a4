// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.specification;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.rpcrdma.specification.VersionSpecification.Invariant;
import org.rpcrdma.specification.VersionSpecification.Responder;
import org.rpcrdma.specification.VersionSpecification.Rule;

/** The invariants hold in each state, and each of them and each rule needs the other. */
class VersionSpecificationTest {

    private static final List<Responder> ALL = List.of(Responder.values());

    @Test
    void theRulesAreEnough() {
        SpecificationTests.assertEnough(new VersionSpecification(ALL), 179);
    }

    @Test
    void noRuleMayBeLeftOut() {
        SpecificationTests.assertNeeded(
                List.of(Rule.values()),
                rule -> new VersionSpecification(ALL, rule),
                List.of(Invariant.values()));
    }
}
