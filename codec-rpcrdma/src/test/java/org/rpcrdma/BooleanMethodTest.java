// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.AccessTarget.MethodCallTarget;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaFieldAccess;
import com.tngtech.archunit.core.domain.JavaFieldAccess.AccessType;
import com.tngtech.archunit.core.domain.JavaMethod;
import com.tngtech.archunit.core.domain.JavaMethodCall;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * A method whose name is a question changes nothing. What changes something and says whether it could has the name of
 * what it does, {@code tryAcquire} for example.
 */
class BooleanMethodTest {

    /** Begins with an auxiliary verb, a verb in the third person or a participle, and may have more words. */
    private static final Pattern QUESTION =
            Pattern.compile(
                    "(is|are|has|have|can|may|must|should|will|was|were|does|at|in)([A-Z].*)?"
                            + "|[a-z]{2,}(s|ed)([A-Z].*)?");

    /** Ends like a verb in the third person or a participle, and is none. */
    private static final Pattern NO_QUESTION =
            Pattern.compile(
                    "(address|access|process|pass|need|feed|proceed|contents|netlocs)([A-Z].*)?");

    /** Methods of the JDK and of Netty that change their object, whichever class has them. */
    private static final Pattern MUTATOR =
            Pattern.compile(
                    "(add(?!Suppressed)|remove|put|poll|push|pop|offer|clear|set|getAnd|compareAnd"
                            + "|increment|decrement|update|accumulate|release|retain|write|skip"
                            + "|complete|try|cancel|merge|compute|replace)([A-Z].*)?"
                            + "|read(Byte|Short|Medium|Int|Long|Unsigned|Bytes|Slice|Retained).*");

    /** What changes nothing that anybody else sees, and why. */
    private static final Map<String, String> EXCEPTIONS =
            Map.ofEntries(
                    Map.entry(
                            "MemoryRegionRegistry.region",
                            "a cache: it remembers the region that was found last"),
                    Map.entry(
                            "XidHashMap$Values.hasNext",
                            "a cursor of whoever iterates: it passes empty places"),
                    Map.entry("XidHashMap$Values.next", "the same cursor"),
                    Map.entry(
                            "Nfs4Binding.isIdempotent",
                            "reads the arguments by a cursor that it is given for that"),
                    Map.entry(
                            "OutboundReadChunkReplyExposer.isInPlace",
                            "a cursor that each user begins anew"),
                    Map.entry(
                            "DefaultCodecAccess$Idempotence.evaluate",
                            "decodes a call into objects of its own, anew each time"),
                    Map.entry(
                            "InboundResultWriteChunkMatcher.isReduced",
                            "asked once for each result, in order: the answer depends on those"
                                    + " before"),
                    Map.entry(
                            "TruncationCheckedMappedMemory.verify",
                            "copies a mark, to see whether memory is there"),
                    Map.entry(
                            "TruncationCheckedMappedMemory.pendingFault",
                            "makes a fault that is pending appear, to throw it"),
                    Map.entry("PrivateData.encode", "fills an array that it makes"),
                    Map.entry("RpcRdmaConfig$Builder.values", "adds to a list that it makes"));

    private static final JavaClasses ALL =
            new ClassFileImporter()
                    .withImportOption(new ImportOption.DoNotIncludeTests())
                    .withImportOption(CircleTest::isOfALibrary)
                    .importPackages("org.rpcrdma");

    /** What changes something, with how. */
    private final Map<JavaCodeUnit, String> changes = new HashMap<>();

    private final Set<String> excepted = new TreeSet<>();

    @Test
    void aQuestionChangesNothing() {
        findChanges();
        Map<String, String> found = new TreeMap<>();
        int questions = 0;
        for (JavaClass type : ALL) {
            for (JavaMethod method : type.getMethods()) {
                if (isQuestion(method)) {
                    questions++;
                    if (changes.containsKey(method)) {
                        found.put(name(method), changes.get(method));
                    }
                }
            }
        }
        assertThat(questions).isGreaterThan(400);
        assertThat(found).isEmpty();
        assertThat(excepted).as("exceptions that are needed").isEqualTo(EXCEPTIONS.keySet());
    }

    private static boolean isQuestion(JavaMethod method) {
        String name = method.getName();
        return method.getRawReturnType().isEquivalentTo(boolean.class)
                && QUESTION.matcher(name).matches()
                && !NO_QUESTION.matcher(name).matches();
    }

    /** From what changes something itself to all its callers. */
    private void findChanges() {
        Map<JavaCodeUnit, Set<JavaCodeUnit>> callers = new HashMap<>();
        Deque<JavaCodeUnit> open = new ArrayDeque<>();
        for (JavaClass type : ALL) {
            for (JavaCodeUnit unit : type.getCodeUnits()) {
                String change = ownChange(unit);
                if (change != null && add(unit, change)) {
                    open.add(unit);
                }
                for (JavaMethodCall call : unit.getMethodCallsFromSelf()) {
                    for (JavaMethod called : targets(call.getTarget())) {
                        callers.computeIfAbsent(called, c -> new HashSet<>()).add(unit);
                    }
                }
            }
        }
        while (!open.isEmpty()) {
            JavaCodeUnit changing = open.remove();
            for (JavaCodeUnit caller : callers.getOrDefault(changing, Set.of())) {
                if (add(caller, "calls " + name(changing) + ", which " + changes.get(changing))) {
                    open.add(caller);
                }
            }
        }
    }

    /** Returns whether it is new, and no exception. */
    private boolean add(JavaCodeUnit unit, String change) {
        if (EXCEPTIONS.containsKey(name(unit))) {
            excepted.add(name(unit));
            return false;
        }
        return changes.putIfAbsent(unit, change) == null;
    }

    private static String ownChange(JavaCodeUnit unit) {
        for (JavaFieldAccess access : unit.getFieldAccesses()) {
            if (access.getAccessType() == AccessType.SET && !unit.isConstructor()) {
                return "writes " + access.getTarget().getName();
            }
        }
        for (JavaMethodCall call : unit.getMethodCallsFromSelf()) {
            String owner = call.getTargetOwner().getName();
            if (!owner.startsWith("org.rpcrdma") && MUTATOR.matcher(call.getName()).matches()) {
                return "calls " + call.getTargetOwner().getSimpleName() + "." + call.getName();
            }
        }
        return null;
    }

    /** The method that is named, and those that override it. */
    private static Collection<JavaMethod> targets(MethodCallTarget target) {
        Set<JavaMethod> methods = new HashSet<>();
        target.resolveMember().ifPresent(methods::add);
        String[] parameters =
                target.getRawParameterTypes().stream()
                        .map(JavaClass::getName)
                        .toArray(String[]::new);
        for (JavaClass heir : target.getOwner().getAllSubclasses()) {
            heir.tryGetMethod(target.getName(), parameters).ifPresent(methods::add);
        }
        return methods;
    }

    private static String name(JavaCodeUnit unit) {
        return unit.getOwner().getName().replaceAll(".*\\.", "") + "." + unit.getName();
    }
}
