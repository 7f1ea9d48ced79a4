// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.platforms;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.util.Version;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
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
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.codec.RpcRdmaCodec;

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

    /** The parts that the libraries need. */
    private static final Pattern NETTY =
            Pattern.compile(
                    ".*netty-(common|buffer|transport|transport-native-unix-common|resolver|codec"
                            + "|codec-base|handler)-\\d[^/]*\\.jar");

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

    /** As an application with a module descriptor runs, for which nobody resolves {@code jdk.unsupported}. */
    @Test
    @Tag("module-path")
    void onTheModulePath() throws Exception {
        var oldest = jdks().firstEntry();
        Platform platform = new Platform(oldest.getKey(), oldest.getValue(), true);
        List<String> modules = new ArrayList<>();
        modules.add(automatic(RdmaChannel.class, "org.rpcrdma.channel"));
        modules.add(automatic(RpcRdmaCodec.class, "org.rpcrdma.codec"));
        Stream.of(System.getProperty("java.class.path").split(File.pathSeparator, -1))
                .filter(entry -> NETTY.matcher(entry).matches())
                .forEach(modules::add);
        String path = String.join(File.pathSeparator, modules);
        String application = application(path);
        check(
                platform,
                List.of(
                        "--module-path",
                        path + File.pathSeparator + application,
                        "--module",
                        "application/" + PlatformCheck.class.getName()),
                false);
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

    /** The jar that the class is in, or one that is made of its directory and has that name as a module. */
    private String automatic(Class<?> type, String name) throws Exception {
        Path classes = Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
        if (!Files.isDirectory(classes)) {
            return classes.toString();
        }
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().putValue("Automatic-Module-Name", name);
        Path jar = directory.resolve(name + ".jar");
        try (OutputStream out = Files.newOutputStream(jar);
                JarOutputStream entries = new JarOutputStream(out, manifest);
                Stream<Path> files = Files.walk(classes)) {
            for (Path file : (Iterable<Path>) files.filter(Files::isRegularFile)::iterator) {
                String entry = classes.relativize(file).toString().replace(File.separatorChar, '/');
                if (!entry.equals(JarFile.MANIFEST_NAME)) {
                    entries.putNextEntry(new JarEntry(entry));
                    Files.copy(file, entries);
                    entries.closeEntry();
                }
            }
        }
        return jar.toString();
    }

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
