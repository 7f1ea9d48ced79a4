// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** The arrows of this module: examples → codec → channel. An example uses what a user would use. */
class LayeringTest {
    private static final JavaClasses ALL =
            new ClassFileImporter()
                    .withImportOption(new ImportOption.DoNotIncludeTests())
                    .importPackages("org.rpcrdma");
    private static final String EXAMPLES = "org.rpcrdma.examples..";

    @Test
    void nobodyKnowsTheExamples() {
        noClasses()
                .that()
                .resideOutsideOfPackage(EXAMPLES)
                .should()
                .dependOnClassesThat()
                .resideInAPackage(EXAMPLES)
                .check(ALL);
    }

    @Test
    void examplesLeaveTheVerbsToTheTransport() {
        noClasses()
                .that()
                .resideInAPackage(EXAMPLES)
                .should()
                .dependOnClassesThat()
                .resideInAPackage("org.rpcrdma.verbs.*..")
                .check(ALL);
    }
}
