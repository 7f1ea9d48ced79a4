// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaField;
import com.tngtech.archunit.core.domain.JavaMember;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each package says whether users may rely on it: it is stable, experimental, or internal. All lists agree with it. */
class StabilityTest {

    private static final Path HOME =
            Path.of(System.getProperty("basedir")).toAbsolutePath().getParent();

    private static final List<String> MODULES =
            List.of("netty-transport-rdma", "netty-transport-rdma/netty42", "codec-rpcrdma");

    private static final Pattern WORDS =
            Pattern.compile("<p>((Stable|Experimental|Internal)[.,:].*?)\\*/", Pattern.DOTALL);

    private static final Pattern LINK = Pattern.compile("\\{@link\\s+([\\w.]+\\.[A-Z]\\w*)");

    private static final Pattern ANNOTATED = Pattern.compile("(?m)^@Experimental$");

    /** Internal but for two types: doclint has packages only. */
    private static final String MPA = "org.rpcrdma.verbs.iwarp.mpa";

    /**
     * A package.
     *
     * @param sources of its module
     * @param words what its description says of its stability, in one line
     */
    private record Described(Path sources, String name, String words) {

        boolean is(String stability) {
            return words.startsWith(stability);
        }

        /** A part of it is stable. */
        boolean hasStable() {
            return words.toLowerCase(Locale.ROOT).contains("stable");
        }

        boolean isInternal() {
            return is("Internal:");
        }

        Path directory() {
            return sources.resolve(name.replace('.', '/'));
        }
    }

    @TempDir private Path classes;

    @Test
    void eachPackageSaysHowStableItIs() throws IOException {
        for (String module : MODULES) {
            assertThat(packages(module)).isNotEmpty();
        }
    }

    @Test
    void wordsAndAnnotationsAgree() throws IOException {
        for (Described described : packages()) {
            assertThat(isAnnotated(described.directory().resolve("package-info.java")))
                    .as(described.name())
                    .isEqualTo(described.is("Experimental"));
            if (!described.is("Experimental")) {
                boolean hasExperimental = described.words().contains("experimental");
                for (String type : linksIn(described.words())) {
                    Path source = described.sources().resolve(type.replace('.', '/') + ".java");
                    assertThat(isAnnotated(source)).as(type).isEqualTo(hasExperimental);
                }
                assertThat(filesOf(described).anyMatch(StabilityTest::isAnnotated))
                        .as(described.name())
                        .isEqualTo(hasExperimental);
            }
        }
    }

    @Test
    void internalIsWhatNobodyComparesOrPublishes() throws IOException {
        String parent = Files.readString(HOME.resolve("pom.xml"));
        Set<String> internal = names(packages(), Described::isInternal);
        String unpublished = one(parent, "<excludePackageNames>(.*?)</excludePackageNames>");
        assertThat(unpublished.split(":")).containsExactlyInAnyOrderElementsOf(internal);

        String compared = one(parent, "<excludes>\\s*(<exclude>@org.rpcrdma.*?)</excludes>");
        Set<String> unstable = names(packages(), described -> !described.hasStable());
        assertThat(all(compared, "<exclude>(org(?:\\.[a-z]\\w*)*)<"))
                .containsExactlyInAnyOrderElementsOf(unstable);

        for (String module : MODULES) {
            String pom = Files.readString(HOME.resolve(module).resolve("pom.xml"));
            String left = all(pom, "<arg>-Xdoclint/package:(.*?)</arg>").toString();
            assertThat(all(left, "-([\\w.]+)"))
                    .containsExactlyInAnyOrderElementsOf(
                            names(packages(module), other -> other.isInternal() || isMpa(other)));
        }
    }

    /** On the module path nobody sees what is internal. */
    @Test
    void modulesExportWhatIsNotInternal() throws IOException {
        for (String module : MODULES) {
            String descriptor =
                    Files.readString(
                            HOME.resolve(module).resolve("src/main/module/module-info.java"));
            assertThat(all(descriptor, "exports ([\\w.]+);"))
                    .containsExactlyInAnyOrderElementsOf(
                            names(packages(module), other -> !other.isInternal()));
            assertThat(descriptor).doesNotContain("opens ");
            // To other modules of this library.
            assertThat(all(descriptor, "exports ([\\w.]+) to\\s"))
                    .isSubsetOf(names(packages(module), Described::isInternal));
            assertThat(all(descriptor, "exports [\\w.]+ to\\s+([^;]+);"))
                    .allSatisfy(
                            modules ->
                                    assertThat(modules.split(",\\s*"))
                                            .allMatch(name -> name.startsWith("org.rpcrdma.")));
        }
    }

    /** The compiler leaves out the package that they are in. */
    @Test
    void whatUsersHaveOfAnInternalPackageIsDocumented() throws IOException {
        Described mpa = packages().stream().filter(StabilityTest::isMpa).findAny().orElseThrow();
        List<Path> sources =
                linksIn(mpa.words()).stream()
                        .map(type -> mpa.sources().resolve(type.replace('.', '/') + ".java"))
                        .toList();
        assertThat(sources).hasSize(2);
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
        try (StandardJavaFileManager files =
                compiler.getStandardFileManager(found, null, StandardCharsets.UTF_8)) {
            compiler.getTask(
                            null,
                            files,
                            found,
                            List.of(
                                    "-Xdoclint:all/protected",
                                    "-proc:none",
                                    "-cp",
                                    System.getProperty("java.class.path"),
                                    "-d",
                                    classes.toString()),
                            null,
                            files.getJavaFileObjectsFromPaths(sources))
                    .call();
        }
        assertThat(found.getDiagnostics()).isEmpty();
    }

    /** A type that users see and that says it is no API is one too many: it belongs to an internal package. */
    @Test
    void noPackageForUsersHasATypeThatIsNotForThem() throws IOException {
        for (Described described : packages()) {
            if (!described.isInternal()) {
                assertThat(filesOf(described).map(file -> file.getFileName().toString()))
                        .as(described.name())
                        .noneMatch(name -> name.startsWith("Internal"));
            }
        }
    }

    /** What users inherit, call, read or catch names no type that a user's module cannot see. */
    @Test
    void signaturesForUsersNameNoInternalType() throws IOException {
        Set<String> internal = names(packages(), Described::isInternal);
        JavaClasses types =
                new ClassFileImporter()
                        .withImportOption(new ImportOption.DoNotIncludeTests())
                        .importPackages("org.rpcrdma");
        for (JavaClass type : types) {
            if (!isForUsers(type) || internal.contains(type.getPackageName()) || isMpa(type)) {
                continue;
            }
            List<JavaClass> supertypes = new ArrayList<>(type.getRawInterfaces());
            type.getRawSuperclass().ifPresent(supertypes::add);
            assertThat(packagesOf(supertypes.stream()))
                    .as("what " + type.getName() + " inherits")
                    .noneMatch(internal::contains);
            for (JavaMember member : type.getMembers()) {
                if (member.getModifiers().contains(JavaModifier.PUBLIC)
                        || (member.getModifiers().contains(JavaModifier.PROTECTED)
                                && !type.getModifiers().contains(JavaModifier.FINAL))) {
                    assertThat(packagesOf(named(member)))
                            .as(member.getFullName())
                            .noneMatch(internal::contains);
                }
            }
        }
    }

    private static boolean isMpa(JavaClass type) {
        return type.getPackageName().equals(MPA);
    }

    private static boolean isForUsers(JavaClass type) {
        return type.getModifiers().contains(JavaModifier.PUBLIC)
                && type.getEnclosingClass().map(StabilityTest::isForUsers).orElse(true);
    }

    /** The type of a field; those of results, parameters and exceptions, and what they are generic in. */
    private static Stream<JavaClass> named(JavaMember member) {
        if (member instanceof JavaField field) {
            return field.getAllInvolvedRawTypes().stream();
        }
        JavaCodeUnit unit = (JavaCodeUnit) member;
        return Stream.concat(
                unit.getAllInvolvedRawTypes().stream(), unit.getExceptionTypes().stream());
    }

    private static List<String> packagesOf(Stream<JavaClass> types) {
        return types.map(type -> type.getBaseComponentType().getPackageName()).toList();
    }

    // ------------------------------------------------------------------ what there is

    private static boolean isMpa(Described described) {
        return described.name().equals(MPA);
    }

    private static List<Described> packages() throws IOException {
        List<Described> all = new ArrayList<>();
        for (String module : MODULES) {
            all.addAll(packages(module));
        }
        return all;
    }

    private static List<Described> packages(String module) throws IOException {
        Path sources = HOME.resolve(module).resolve("src/main/java");
        try (Stream<Path> files = Files.walk(sources)) {
            return files.filter(file -> file.toString().endsWith(".java"))
                    .map(Path::getParent)
                    .distinct()
                    .map(directory -> described(sources, directory))
                    .toList();
        }
    }

    private static Described described(Path sources, Path directory) {
        String name = sources.relativize(directory).toString().replace('/', '.').replace('\\', '.');
        Matcher words = WORDS.matcher(read(directory.resolve("package-info.java")));
        assertThat(words.find()).as("words about the stability of " + name).isTrue();
        return new Described(sources, name, words.group(1).replaceAll("\\s*\n \\*\\s*", " "));
    }

    private static Stream<Path> filesOf(Described described) throws IOException {
        try (Stream<Path> files = Files.list(described.directory())) {
            return files.filter(file -> file.toString().endsWith(".java")).toList().stream();
        }
    }

    private static boolean isAnnotated(Path source) {
        return ANNOTATED.matcher(read(source)).find();
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<String> linksIn(String words) {
        return LINK.matcher(words).results().map(link -> link.group(1)).toList();
    }

    private static Set<String> names(List<Described> packages, Predicate<Described> wanted) {
        return packages.stream().filter(wanted).map(Described::name).collect(Collectors.toSet());
    }

    private static String one(String text, String pattern) {
        Matcher matcher = Pattern.compile(pattern, Pattern.DOTALL).matcher(text);
        assertThat(matcher.find()).as(pattern).isTrue();
        return matcher.group(1);
    }

    private static List<String> all(String text, String pattern) {
        return Pattern.compile(pattern)
                .matcher(text)
                .results()
                .map(found -> found.group(1))
                .toList();
    }
}
