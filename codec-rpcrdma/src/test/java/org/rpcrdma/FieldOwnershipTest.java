// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaFieldAccess;
import com.tngtech.archunit.core.domain.JavaFieldAccess.AccessType;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/**
 * Each field has one owner, which alone writes it after construction: its own class, or the one container that links
 * its elements by it. Counters of a device are the exception: whoever sees an event counts it.
 */
class FieldOwnershipTest {

    private static final JavaClasses ALL =
            new ClassFileImporter()
                    .withImportOption(new ImportOption.DoNotIncludeTests())
                    .withImportOption(CircleTest::isOfALibrary)
                    .importPackages(
                            "org.rpcrdma.codec", "org.rpcrdma.channel", "org.rpcrdma.verbs");

    @Test
    void onlyTheOwnerWritesAField() {
        Map<String, Set<String>> writers = new TreeMap<>();
        for (JavaClass type : ALL) {
            for (JavaFieldAccess access : type.getFieldAccessesFromSelf()) {
                if (access.getAccessType() == AccessType.SET
                        && !access.getTargetOwner().getSimpleName().endsWith("Counters")
                        && !access.getOrigin().isConstructor()) {
                    writers.computeIfAbsent(access.getTarget().getFullName(), f -> new TreeSet<>())
                            .add(outermost(access.getOriginOwner()).getName());
                }
            }
        }
        assertThat(writers).hasSizeGreaterThan(500);
        writers.values().removeIf(owners -> owners.size() == 1);
        assertThat(writers).isEmpty();
    }

    private static JavaClass outermost(JavaClass type) {
        return type.getEnclosingClass().map(FieldOwnershipTest::outermost).orElse(type);
    }
}
