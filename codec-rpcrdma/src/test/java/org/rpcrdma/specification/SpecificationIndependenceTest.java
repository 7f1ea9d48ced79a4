// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.specification;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackages;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import org.junit.jupiter.api.Test;

/** What the code is held against cannot be made of the code. */
class SpecificationIndependenceTest {

    @Test
    void theSpecificationKnowsNoCode() {
        noClasses()
                .that()
                .resideInAPackage("org.rpcrdma.specification..")
                .should()
                .dependOnClassesThat(
                        resideInAPackage("org.rpcrdma..")
                                .and(resideOutsideOfPackages("org.rpcrdma.specification..")))
                .check(new ClassFileImporter().importPackages("org.rpcrdma.specification"));
    }
}
