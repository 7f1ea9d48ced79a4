// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** The arrows of this module: codec → channel, and nothing back. The codec knows channel messages, never verbs. */
class LayeringTest {
    private static final JavaClasses ALL =
            new ClassFileImporter()
                    .withImportOption(new ImportOption.DoNotIncludeTests())
                    .importPackages("org.rpcrdma");
    private static final String CODEC = "org.rpcrdma.codec..";
    private static final String BINDING = "org.rpcrdma.codec.binding..";
    private static final String METRICS = "org.rpcrdma.codec.metrics..";

    @Test
    void theCodecNeverUsesVerbs() {
        noClasses()
                .that()
                .resideInAPackage(CODEC)
                .should()
                .dependOnClassesThat()
                .resideInAPackage("org.rpcrdma.verbs..")
                .check(ALL);
    }

    @Test
    void theTransportDoesNotKnowTheCodec() {
        noClasses()
                .that()
                .resideInAnyPackage("org.rpcrdma.channel..", "org.rpcrdma.verbs..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage(CODEC)
                .check(ALL);
    }

    @Test
    void bindingsKnowMessagesNotConnections() {
        noClasses()
                .that()
                .resideInAPackage(BINDING)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("org.rpcrdma.channel..", METRICS)
                .check(ALL);
    }

    @Test
    void onlyTheBindersNeedMicrometer() {
        noClasses()
                .that()
                .resideInAPackage(CODEC)
                .and()
                .resideOutsideOfPackage(METRICS)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(METRICS, "io.micrometer..")
                .check(ALL);
    }
}
