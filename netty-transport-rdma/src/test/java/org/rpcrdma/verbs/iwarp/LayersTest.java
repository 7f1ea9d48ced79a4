// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static com.tngtech.archunit.library.Architectures.layeredArchitecture;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition;
import org.junit.jupiter.api.Test;

/** The layers are those of the RFCs, and none knows what is above it. */
class LayersTest {

    private final JavaClasses classes =
            new ClassFileImporter()
                    .withImportOption(new ImportOption.DoNotIncludeTests())
                    .importPackages("org.rpcrdma.verbs");

    @Test
    void eachLayerUsesOnlyThoseBelow() {
        layeredArchitecture()
                .consideringOnlyDependenciesInLayers()
                .layer("rnic")
                .definedBy("org.rpcrdma.verbs.iwarp")
                .layer("rdmap")
                .definedBy("org.rpcrdma.verbs.iwarp.rdmap")
                .layer("ddp")
                .definedBy("org.rpcrdma.verbs.iwarp.ddp")
                .layer("memory")
                .definedBy("org.rpcrdma.verbs.iwarp.memory")
                .layer("mpa")
                .definedBy("org.rpcrdma.verbs.iwarp.mpa")
                .whereLayer("rnic")
                .mayNotBeAccessedByAnyLayer()
                .whereLayer("rdmap")
                .mayOnlyBeAccessedByLayers("rnic")
                .whereLayer("ddp")
                .mayOnlyBeAccessedByLayers("rnic", "rdmap")
                .whereLayer("memory")
                .mayOnlyBeAccessedByLayers("rnic", "rdmap")
                .check(classes);
    }

    @Test
    void knowsTheSpiAndNothingAboveIt() {
        ArchRuleDefinition.noClasses()
                .that()
                .resideInAPackage("org.rpcrdma.verbs..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        "org.rpcrdma.channel..",
                        "org.rpcrdma.codec..",
                        "io.netty.channel..",
                        "io.netty.buffer..")
                .check(classes);
    }
}
