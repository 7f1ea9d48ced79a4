// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.core.importer.Location;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.rpcrdma.codec.RpcRdmaCodec;

/**
 * Classes that need each other in a circle can only be read, tested and changed together. A few may: a list and its
 * kinds, a pool and what is in it. Nested classes count as the class around them; exceptions are not counted.
 *
 * <p>Classes of Java 22 are there if a JDK has compiled them: the run {@code ffm} has this test for their sake.
 */
class CircleTest {

    private static final int MOST = 4;

    /** One of those that an older JDK leaves out. */
    private static final String OF_JAVA_22 = "org.rpcrdma.verbs.ffm.FfmCmId";

    /** Where the classes of both libraries are. */
    private static final List<String> MAIN =
            List.of(root(Experimental.class), root(RpcRdmaCodec.class));

    private static String root(Class<?> type) {
        String path = type.getName().replace('.', '/') + ".class";
        String url = String.valueOf(type.getClassLoader().getResource(path));
        return url.substring(0, url.length() - path.length());
    }

    @Test
    void noCircleIsLarge() {
        Map<String, Set<String>> needs = new TreeMap<>();
        new ClassFileImporter()
                .withImportOption(new ImportOption.DoNotIncludeTests())
                .withImportOption(CircleTest::isOfALibrary)
                .importPackages("org.rpcrdma")
                .forEach(type -> add(needs, type));
        assertThat(needs).hasSizeGreaterThan(250);
        assertThat(needs.containsKey(OF_JAVA_22)).isEqualTo(isThere(OF_JAVA_22));
        List<Set<String>> large = circles(needs);
        large.removeIf(circle -> circle.size() <= MOST);
        assertThat(large).isEmpty();
    }

    private static boolean isThere(String type) {
        String path = type.replace('.', '/') + ".class";
        return CircleTest.class.getClassLoader().getResource(path) != null;
    }

    /** Test classes are left out wherever a build has put them: each directory or jar has its main class. */
    static boolean isOfALibrary(Location location) {
        return location.contains("/org/rpcrdma/")
                && MAIN.stream().anyMatch(location.asURI().toString()::startsWith);
    }

    private static void add(Map<String, Set<String>> needs, JavaClass type) {
        if (!isCounted(type)) {
            return;
        }
        Set<String> needed =
                needs.computeIfAbsent(outermost(type).getName(), name -> new TreeSet<>());
        for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
            JavaClass target = dependency.getTargetClass().getBaseComponentType();
            if (isCounted(target)) {
                needed.add(outermost(target).getName());
            }
        }
    }

    private static boolean isCounted(JavaClass type) {
        return type.getPackageName().startsWith("org.rpcrdma")
                && !type.isAssignableTo(Throwable.class)
                && !type.getSimpleName().equals("package-info");
    }

    private static JavaClass outermost(JavaClass type) {
        return type.getEnclosingClass().map(CircleTest::outermost).orElse(type);
    }

    /** Two classes are in one circle when each can be reached from the other. */
    private static List<Set<String>> circles(Map<String, Set<String>> needs) {
        Map<String, Set<String>> reached = new TreeMap<>();
        needs.keySet().forEach(name -> reached.put(name, reach(needs, name)));
        List<Set<String>> circles = new ArrayList<>();
        Set<String> seen = new HashSet<>();
        for (String name : needs.keySet()) {
            Set<String> circle = new TreeSet<>(reached.get(name));
            circle.removeIf(other -> !reached.getOrDefault(other, Set.of()).contains(name));
            if (!circle.isEmpty() && seen.add(name)) {
                seen.addAll(circle);
                circles.add(circle);
            }
        }
        return circles;
    }

    private static Set<String> reach(Map<String, Set<String>> needs, String start) {
        Set<String> reached = new HashSet<>();
        Deque<String> next = new ArrayDeque<>(List.of(start));
        while (!next.isEmpty()) {
            for (String needed : needs.getOrDefault(next.poll(), Set.of())) {
                if (reached.add(needed)) {
                    next.add(needed);
                }
            }
        }
        return reached;
    }
}
