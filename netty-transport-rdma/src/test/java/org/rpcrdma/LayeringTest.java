// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import static com.tngtech.archunit.base.DescribedPredicate.alwaysTrue;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/**
 * The arrows of this module: stream ← channel → verbs ← {iwarp, hardware ← {disni, ffm}}, and inside of iwarp: RDMAP →
 * DDP → MPA, RDMAP → memory; shared beside them, for the queue pairs alone.
 */
class LayeringTest {
    private static final JavaClasses ALL =
            new ClassFileImporter()
                    .withImportOption(new ImportOption.DoNotIncludeTests())
                    .importPackages("org.rpcrdma");
    private static final String CHANNEL = "org.rpcrdma.channel..";
    private static final String CHANNEL_MEMORY = "org.rpcrdma.channel.memory..";
    private static final String STREAM = "org.rpcrdma.stream..";
    private static final String VERBS = "org.rpcrdma.verbs";
    private static final String PROVIDERS = "org.rpcrdma.verbs.*..";
    private static final String HARDWARE = "org.rpcrdma.verbs.hardware..";
    private static final String DISNI = "org.rpcrdma.verbs.disni..";
    private static final String FFM = "org.rpcrdma.verbs.ffm..";
    private static final String IWARP = "org.rpcrdma.verbs.iwarp";
    private static final String MPA = "org.rpcrdma.verbs.iwarp.mpa..";
    private static final String DDP = "org.rpcrdma.verbs.iwarp.ddp..";
    private static final String RDMAP = "org.rpcrdma.verbs.iwarp.rdmap..";
    private static final String MEMORY = "org.rpcrdma.verbs.iwarp.memory..";
    private static final String SHARED = "org.rpcrdma.verbs.iwarp.shared..";

    @Test
    void registeredMemoryKnowsNoChannel() {
        noClasses()
                .that()
                .resideInAPackage(CHANNEL_MEMORY)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("org.rpcrdma.channel", STREAM, PROVIDERS)
                .check(ALL);
    }

    @Test
    void admissionPoliciesKnowNoChannel() {
        noClasses()
                .that()
                .resideInAPackage("org.rpcrdma.channel.admission")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        "org.rpcrdma.channel", CHANNEL_MEMORY, STREAM, "org.rpcrdma.verbs..")
                .check(ALL);
    }

    @Test
    void needsNettyAndTheJdkOnly() {
        classes()
                .that()
                .resideOutsideOfPackage(DISNI)
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage("org.rpcrdma..", "io.netty..", "java..", "jdk.jfr..")
                .check(ALL);
    }

    @Test
    void theAdapterNeedsDisniToo() {
        classes()
                .that()
                .resideInAPackage(DISNI)
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(
                        DISNI, HARDWARE, VERBS, "com.ibm.disni..", "io.netty.util..", "java..")
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
                .doNotHaveSimpleName("DisniPointerDataPath")
                .and()
                .haveNameNotMatching(".*DisniPrivateFields.*")
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

    /** It has the bytes and the rules of a protocol; memory and work requests are the channel's. */
    @Test
    void theStreamProtocolKnowsBytesOnly() {
        classes()
                .that()
                .resideInAPackage(STREAM)
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(STREAM, "io.netty.buffer..", "java..")
                .check(ALL);
    }

    @Test
    void providersKnowTheSpiAndNothingAboveIt() {
        noClasses()
                .that()
                .resideInAnyPackage(VERBS, PROVIDERS)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(CHANNEL, STREAM, "io.netty.channel..", "io.netty.buffer..")
                .check(ALL);
    }

    @Test
    void providersDoNotKnowEachOther() {
        slices().matching("org.rpcrdma.verbs.(*)..")
                .should()
                .notDependOnEachOther()
                .ignoreDependency(alwaysTrue(), resideInAPackage(HARDWARE))
                .check(ALL);
    }

    /** Seen whole by a JDK that has compiled it whole. */
    @Test
    void theAdapterToLibibverbsNeedsTheJdk() {
        noClasses()
                .that()
                .resideInAPackage(FFM)
                .should()
                .dependOnClassesThat()
                .resideOutsideOfPackages(
                        FFM, HARDWARE, VERBS, "org.rpcrdma", "io.netty.util..", "java..")
                .check(ALL);
    }

    /** What is common to them stands under all of them. */
    @Test
    void whatHardwareHasInCommonKnowsNoLibrary() {
        noClasses()
                .that()
                .resideInAPackage(HARDWARE)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(DISNI, FFM, IWARP, "com.ibm.disni..")
                .check(ALL);
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
                .resideInAnyPackage(DDP, RDMAP, MEMORY, IWARP, SHARED)
                .check(ALL);
    }

    /** It is a wire: it carries bytes and knows none of them. */
    @Test
    void sharedMemoryKnowsNoProtocol() {
        noClasses()
                .that()
                .resideInAPackage(SHARED)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(MPA, DDP, RDMAP, MEMORY, IWARP)
                .check(ALL);
    }

    @Test
    void ddpIsBelowRdmap() {
        noClasses()
                .that()
                .resideInAPackage(DDP)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(RDMAP, MEMORY, IWARP, SHARED)
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

    /** What knows each other can be understood and changed only together. */
    @Test
    void noCircleOfTheChannelHoldsMoreThanFourClasses() {
        Map<String, Set<String>> arrows = new HashMap<>();
        for (JavaClass from : ALL.that(resideInAPackage("org.rpcrdma.channel"))) {
            Set<String> to = arrows.computeIfAbsent(topLevel(from), name -> new HashSet<>());
            from.getDirectDependenciesFromSelf()
                    .forEach(dependency -> to.add(topLevel(dependency.getTargetClass())));
        }
        for (String start : arrows.keySet()) {
            Set<String> circle = new TreeSet<>(reachable(start, arrows));
            circle.retainAll(arrows.keySet());
            circle.removeIf(member -> !reachable(member, arrows).contains(start));
            assertThat(circle).hasSizeLessThanOrEqualTo(4);
        }
    }

    private static String topLevel(JavaClass type) {
        return type.getName().replaceFirst("\\$.*", "");
    }

    private static Set<String> reachable(String start, Map<String, Set<String>> arrows) {
        Set<String> reached = new HashSet<>();
        Deque<String> next = new ArrayDeque<>(arrows.getOrDefault(start, Set.of()));
        while (!next.isEmpty()) {
            String name = next.poll();
            if (reached.add(name)) {
                next.addAll(arrows.getOrDefault(name, Set.of()));
            }
        }
        return reached;
    }
}
