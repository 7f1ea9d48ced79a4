// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.platforms;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.util.Version;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Properties;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.ModuleJars;

/**
 * {@link PlatformCheck} passes on the oldest and the newest JDK that there is, with and without {@code
 * sun.misc.Unsafe}, on the Netty of the class path; and once on the module path. The JDKs are those that {@code
 * RPCRDMA_JDK22} and {@code JAVA_HOME} name, those in {@code /usr/lib/jvm}, and that of this test; the oldest alone
 * with {@code -Dorg.rpcrdma.platforms.oldest=true}.
 *
 * <p>It starts JVMs, so it is not named like a test: the POM names it, for the profile {@code full}.
 */
class PlatformMatrix {

    /** Little enough that memory which does not come back is missed soon. */
    private static final List<String> MEMORY =
            List.of(
                    "-Xmx256m",
                    "-XX:MaxDirectMemorySize=160m",
                    "-XX:+UseSerialGC",
                    "-XX:TieredStopAtLevel=1");

    private static final Pattern VERSION = Pattern.compile("\"?(\\d+).*");

    private static final boolean ONLY_OLDEST = Boolean.getBoolean("org.rpcrdma.platforms.oldest");

    @TempDir private Path directory;

    /** One run. */
    record Platform(int java, Path home, boolean hasUnsafe) {

        List<String> options() {
            List<String> options = new ArrayList<>();
            options.add("-Dio.netty.noUnsafe=" + !hasUnsafe);
            if (hasUnsafe && java >= 24) {
                options.add("--sun-misc-unsafe-memory-access=allow");
            }
            return options;
        }

        @Override
        public String toString() {
            return "Java " + java + (hasUnsafe ? " with" : " without") + " Unsafe, " + home;
        }
    }

    /** By version. */
    private static NavigableMap<Integer, Path> jdks() throws IOException {
        NavigableMap<Integer, Path> jdks = new TreeMap<>();
        try (Stream<Path> installed =
                Files.isDirectory(Path.of("/usr/lib/jvm"))
                        ? Files.list(Path.of("/usr/lib/jvm"))
                        : Stream.empty()) {
            Stream.of(
                            installed,
                            Stream.of("JAVA_HOME", "RPCRDMA_JDK22")
                                    .map(System::getenv)
                                    .filter(Objects::nonNull)
                                    .map(Path::of),
                            Stream.of(Path.of(System.getProperty("java.home"))))
                    .flatMap(homes -> homes)
                    .filter(home -> Files.isExecutable(home.resolve("bin/java")))
                    .forEach(home -> jdks.put(version(home), home));
        }
        jdks.headMap(17).clear();
        return jdks;
    }

    /** 0 for what is no JDK. */
    private static int version(Path home) {
        Properties release = new Properties();
        try (var in = Files.newInputStream(home.resolve("release"))) {
            release.load(in);
        } catch (IOException e) {
            return 0;
        }
        var version = VERSION.matcher(release.getProperty("JAVA_VERSION", "0"));
        return version.matches() ? Integer.parseInt(version.group(1)) : 0;
    }

    static Stream<Platform> platforms() throws IOException {
        NavigableMap<Integer, Path> jdks = jdks();
        return Stream.of(jdks.firstEntry(), ONLY_OLDEST ? jdks.firstEntry() : jdks.lastEntry())
                .distinct()
                .flatMap(
                        jdk ->
                                Stream.of(true, false)
                                        .map(
                                                unsafe ->
                                                        new Platform(
                                                                jdk.getKey(),
                                                                jdk.getValue(),
                                                                unsafe)));
    }

    @ParameterizedTest
    @MethodSource("platforms")
    void onTheClassPath(Platform platform) throws Exception {
        List<String> options = platform.options();
        options.add("-cp");
        options.add(System.getProperty("java.class.path"));
        options.add(PlatformCheck.class.getName());
        check(platform, options, platform.hasUnsafe());
    }

    /**
     * As an application with a module descriptor runs: {@code jdk.unsupported} is there because a library asks for
     * it.
     */
    @Test
    @Tag("module-path")
    void onTheModulePath() throws Exception {
        var oldest = jdks().firstEntry();
        Platform platform = new Platform(oldest.getKey(), oldest.getValue(), true);
        String path = new ModuleJars(directory).path();
        String application = application(path);
        check(
                platform,
                List.of(
                        "--module-path",
                        path + File.pathSeparator + application,
                        "--module",
                        "application/" + PlatformCheck.class.getName()),
                true);
    }

    private void check(Platform platform, List<String> options, boolean hasUnsafe)
            throws Exception {
        List<String> command = new ArrayList<>();
        command.add(platform.home().resolve("bin/java").toString());
        command.addAll(MEMORY);
        command.addAll(options);
        command.add(Boolean.toString(hasUnsafe));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(said).isZero();
        assertThat(said)
                .contains(
                        PlatformCheck.PASSED + " Java " + platform.java(),
                        "Netty " + Version.identify().get("netty-common").artifactVersion(),
                        hasUnsafe ? "with Unsafe" : "without Unsafe")
                .doesNotContain("WARN", "LEAK", "Exception");
    }

    // ------------------------------------------------------------------ modules

    /** The check as a module of its own. */
    private String application(String modulePath) throws Exception {
        Path module = directory.resolve("application");
        Path tests =
                Path.of(
                        PlatformCheck.class
                                .getProtectionDomain()
                                .getCodeSource()
                                .getLocation()
                                .toURI());
        String classes = PlatformCheck.class.getPackageName().replace('.', '/');
        Files.createDirectories(module.resolve(classes));
        Collection<Path> ofCheck;
        try (Stream<Path> files = Files.list(tests.resolve(classes))) {
            ofCheck =
                    files.filter(file -> file.getFileName().toString().startsWith("PlatformCheck"))
                            .toList();
        }
        for (Path file : ofCheck) {
            Files.copy(file, module.resolve(classes).resolve(file.getFileName()));
        }
        Path descriptor = directory.resolve("module-info.java");
        Files.writeString(
                descriptor,
                "module application { requires org.rpcrdma.channel; requires org.rpcrdma.codec; }");
        assertThat(
                        ToolProvider.getSystemJavaCompiler()
                                .run(
                                        null,
                                        null,
                                        null,
                                        "--release",
                                        "17",
                                        "--module-path",
                                        modulePath,
                                        "-d",
                                        module.toString(),
                                        descriptor.toString()))
                .isZero();
        return module.toString();
    }
}
