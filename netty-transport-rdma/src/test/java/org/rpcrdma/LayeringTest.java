// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** The arrows of this module: channel → verbs ← {iwarp, disni}, and inside of iwarp: RDMAP → DDP → MPA, RDMAP → memory. */
class LayeringTest {
    private static final JavaClasses ALL =
            new ClassFileImporter()
                    .withImportOption(new ImportOption.DoNotIncludeTests())
                    .importPackages("org.rpcrdma");
    private static final String CHANNEL = "org.rpcrdma.channel..";
    private static final String VERBS = "org.rpcrdma.verbs";
    private static final String PROVIDERS = "org.rpcrdma.verbs.*..";
    private static final String DISNI = "org.rpcrdma.verbs.disni..";
    private static final String IWARP = "org.rpcrdma.verbs.iwarp";
    private static final String MPA = "org.rpcrdma.verbs.iwarp.mpa..";
    private static final String DDP = "org.rpcrdma.verbs.iwarp.ddp..";
    private static final String RDMAP = "org.rpcrdma.verbs.iwarp.rdmap..";
    private static final String MEMORY = "org.rpcrdma.verbs.iwarp.memory..";

    @Test
    void needsNettyAndTheJdkOnly() {
        classes()
                .that()
                .resideOutsideOfPackage(DISNI)
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage("org.rpcrdma..", "io.netty..", "java..")
                .check(ALL);
    }

    @Test
    void theAdapterNeedsDisniToo() {
        classes()
                .that()
                .resideInAPackage(DISNI)
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(DISNI, VERBS, "com.ibm.disni..", "io.netty.util..", "java..")
                .check(ALL);
    }

    /** Loaded where DiSNI is not, they must not touch it before they know that it is. */
    @Test
    void whatIsLoadedWithoutDisniDoesNotNameIt() {
        noClasses()
                .that()
                .haveSimpleName("Disni")
                .or()
                .haveSimpleName("DisniProvider")
                .or()
                .haveSimpleName("DisniConfig")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("com.ibm.disni..")
                .check(ALL);
    }

    /** Private fields and native calls of DiSNI are for few. */
    @Test
    void onlyTheLowestClassesKnowDisnisInnerSide() {
        noClasses()
                .that()
                .resideInAPackage(DISNI)
                .and()
                .doNotHaveSimpleName("Layout")
                .and()
                .doNotHaveSimpleName("PointerCalls")
                .and()
                .haveNameNotMatching(".*NativeInternals.*")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("com.ibm.disni.verbs.impl..", "java.lang.reflect..")
                .check(ALL);
    }

    /** Its endpoint groups wait for ever for a connection that is refused. */
    @Test
    void noEndpointGroups() {
        noClasses()
                .that()
                .resideInAPackage(DISNI)
                .should()
                .dependOnClassesThat()
                .resideInAPackage("com.ibm.disni")
                .check(ALL);
    }

    @Test
    void theSpiKnowsNobody() {
        noClasses()
                .that()
                .resideInAPackage(VERBS)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(CHANNEL, PROVIDERS)
                .check(ALL);
    }

    @Test
    void providersKnowTheSpiAndNothingAboveIt() {
        noClasses()
                .that()
                .resideInAnyPackage(VERBS, PROVIDERS)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(CHANNEL, "io.netty.channel..", "io.netty.buffer..")
                .check(ALL);
    }

    @Test
    void providersDoNotKnowEachOther() {
        slices().matching("org.rpcrdma.verbs.(*)..").should().notDependOnEachOther().check(ALL);
    }

    @Test
    void theChannelMeetsProvidersThroughTheSpi() {
        noClasses()
                .that()
                .resideInAPackage(CHANNEL)
                .should()
                .dependOnClassesThat()
                .resideInAPackage(PROVIDERS)
                .check(ALL);
    }

    @Test
    void mpaIsTheLowestLayer() {
        noClasses()
                .that()
                .resideInAPackage(MPA)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(DDP, RDMAP, MEMORY, IWARP)
                .check(ALL);
    }

    @Test
    void ddpIsBelowRdmap() {
        noClasses()
                .that()
                .resideInAPackage(DDP)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(RDMAP, MEMORY, IWARP)
                .check(ALL);
    }

    @Test
    void rdmapIsBelowTheQueuePairs() {
        noClasses()
                .that()
                .resideInAPackage(RDMAP)
                .should()
                .dependOnClassesThat()
                .resideInAPackage(IWARP)
                .check(ALL);
    }

    @Test
    void memoryKnowsNoProtocol() {
        noClasses()
                .that()
                .resideInAPackage(MEMORY)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(DDP, RDMAP, IWARP)
                .check(ALL);
    }
}
