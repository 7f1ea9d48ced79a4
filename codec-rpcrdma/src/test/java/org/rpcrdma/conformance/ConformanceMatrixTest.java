// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaMethod;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.Location;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;
import org.junit.platform.commons.annotation.Testable;
import org.rpcrdma.Proves;

/**
 * Holds the rules against the tests that name them with {@link Proves}, in this module and in the transport's, and
 * writes {@code target/conformance.md}. The classes are read, not run: that the tests pass is for the build to see.
 */
class ConformanceMatrixTest {

    private static final Map<String, Requirement> RULES = Requirement.load();

    /** Tests by rule. */
    private static final Map<String, SortedSet<String>> PROOFS = new TreeMap<>();

    private static final List<String> MISPLACED = new ArrayList<>();

    @BeforeAll
    static void scan() {
        var tests =
                new ClassFileImporter()
                        .importLocations(
                                List.of(
                                        locationOf(ConformanceMatrixTest.class),
                                        testsOfTheTransport()));
        for (JavaClass type : tests) {
            for (JavaMethod method : type.getMethods()) {
                if (method.isAnnotatedWith(Proves.class)) {
                    note(type, method);
                }
            }
        }
    }

    /** The annotation is among them, or, as the build has it, in an artifact for several modules. */
    private static Location testsOfTheTransport() {
        String directory = System.getProperty("org.rpcrdma.transport.tests");
        return directory == null
                ? locationOf(Proves.class)
                : Location.of(Path.of(directory).toAbsolutePath().normalize());
    }

    private static Location locationOf(Class<?> type) {
        return Location.of(type.getProtectionDomain().getCodeSource().getLocation());
    }

    private static void note(JavaClass type, JavaMethod method) {
        String name = type.getSimpleName() + '.' + method.getName();
        // Of JUnit and of jqwik.
        boolean isTest = method.isMetaAnnotatedWith(Testable.class);
        // Surefire takes classes of this name only.
        if (!isTest
                || !type.getSimpleName().endsWith("Test")
                || method.isAnnotatedWith(Disabled.class)
                || type.isAnnotatedWith(Disabled.class)) {
            MISPLACED.add(name);
            return;
        }
        for (String id : method.getAnnotationOfType(Proves.class).value()) {
            PROOFS.computeIfAbsent(id, k -> new TreeSet<>()).add(name);
        }
    }

    @Test
    void everyProofNamesARule() {
        assertThat(PROOFS.keySet()).isSubsetOf(RULES.keySet());
    }

    @Test
    void onlyTestsThatRunProveSomething() {
        assertThat(MISPLACED).isEmpty();
    }

    @Test
    void everyRuleHasATestOrAWrittenAnswer() {
        assertThat(RULES.values())
                .filteredOn(rule -> rule.note() == null && !PROOFS.containsKey(rule.id()))
                .extracting(Requirement::id)
                .isEmpty();
    }

    @Test
    void theMatrixIsWritten() throws IOException {
        Path file = Path.of(System.getProperty("basedir", "."), "target", "conformance.md");
        Files.createDirectories(file.getParent());
        Files.writeString(file, new Matrix(RULES.values(), PROOFS).toMarkdown());
        assertThat(file).content().contains(RULES.keySet());
    }
}
