// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** When and how the launcher builds, by a copy of it among empty modules, with scripts for Maven and the JVM. */
class LauncherBuildTest {

    private static final String JAVA =
            """
            #!/bin/bash
            if [ "$1" = -version ]; then
                echo 'openjdk version "17.0.1"' >&2
                exit
            fi
            while [ "$1" != -jar ]; do
                shift || exit # that of the dump has none
            done
            echo "runs $(<"$2"): ${*:3}"
            """;

    /** Makes a jar that has its number in it, after what the test wants to happen meanwhile. */
    private static final String MAVEN =
            """
            #!/bin/bash
            echo "$*" >>"$PLACE/builds"
            echo 'what Maven says'
            [ ! -f "$PLACE/meanwhile" ] || . "$PLACE/meanwhile"
            mkdir -p examples/target/quick/target
            wc -l <"$PLACE/builds" >examples/target/quick/target/rpcrdma.jar
            """;

    @TempDir private Path place;
    private Path home;
    private Path jar;
    private final List<Process> started = new ArrayList<>();

    @BeforeEach
    void copyTheLauncher() throws IOException {
        home = place.resolve("home");
        jar = home.resolve("examples/target/rpcrdma.jar");
        for (String module :
                List.of(
                        "netty-transport-rdma",
                        "codec-rpcrdma",
                        "examples",
                        "codec-rpcrdma/simulator")) {
            Files.createDirectories(home.resolve(module).resolve("src/main"));
            Files.createFile(home.resolve(module).resolve("pom.xml"));
        }
        Files.createFile(home.resolve("pom.xml"));
        for (String tests : List.of("simulation", "fault", "client")) {
            Files.createDirectories(
                    home.resolve("codec-rpcrdma/src/test/java/org/rpcrdma/codec").resolve(tests));
        }
        Path transport = home.resolve("netty-transport-rdma/src/test/java/org/rpcrdma");
        Files.createDirectories(transport.resolve("channel"));
        Files.createFile(transport.resolve("channel/StreamSimulation.java"));
        Files.createDirectories(transport.resolve("verbs/iwarp"));
        Files.copy(Path.of("..", "rpcrdma"), home.resolve("rpcrdma"));
        script("java", JAVA);
        script("mvn", MAVEN);
    }

    @AfterEach
    void end() {
        started.forEach(Process::destroyForcibly);
    }

    private void script(String name, String text) throws IOException {
        Path file = Files.createDirectories(place.resolve("bin")).resolve(name);
        Files.setPosixFilePermissions(
                Files.writeString(file, text), PosixFilePermissions.fromString("rwx------"));
    }

    private record Run(Process process, Path out, Path err) {
        String said() throws IOException {
            return Files.readString(err);
        }

        /** What it has written to standard output, if its exit status is that. */
        String await(int status) throws Exception {
            assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
            assertThat(process.exitValue()).as(said()).isEqualTo(status);
            return Files.readString(out);
        }
    }

    private Run start() throws IOException {
        Path out = Files.createTempFile(place, "out", null);
        Path err = Files.createTempFile(place, "err", null);
        ProcessBuilder launcher =
                new ProcessBuilder("bash", home.resolve("rpcrdma").toString(), "ping", "a b")
                        .redirectOutput(out.toFile())
                        .redirectError(err.toFile());
        launcher.environment().remove("JAVA_HOME");
        launcher.environment().remove("JAVA_OPTS");
        launcher.environment().put("PLACE", place.toString());
        launcher.environment()
                .merge("PATH", place.resolve("bin").toString(), (old, bin) -> bin + ":" + old);
        Process process = launcher.start();
        started.add(process);
        return new Run(process, out, err);
    }

    private List<String> builds() throws IOException {
        return Files.readAllLines(place.resolve("builds"));
    }

    private void meanwhile(String script) throws IOException {
        Files.writeString(place.resolve("meanwhile"), script);
    }

    @Test
    void itBuildsWhenSourcesAreNewerAndAtNoOtherTime() throws Exception {
        Run first = start();
        // Standard output belongs to the command.
        assertThat(first.await(0)).isEqualTo("runs 1: ping a b\n");
        assertThat(first.said()).contains("rpcrdma: building").doesNotContain("what Maven says");
        Run second = start();
        assertThat(second.await(0)).isEqualTo("runs 1: ping a b\n");
        assertThat(second.said()).isEmpty();
        Path source = Files.createFile(home.resolve("examples/src/main/New.java"));
        assertThat(start().await(0)).isEqualTo("runs 2: ping a b\n");
        Files.delete(source);
        assertThat(start().await(0)).isEqualTo("runs 3: ping a b\n");
        assertThat(start().await(0)).isEqualTo("runs 3: ping a b\n");
    }

    /** The profile has neither format check nor lints. */
    @Test
    void theBuildIsTheQuickOneWithoutTests() throws Exception {
        start().await(0);
        assertThat(builds())
                .singleElement()
                .asString()
                .contains("-P quick ", "-Dmaven.test.skip=true ", "-pl examples -am package")
                .doesNotContain("clean");
        String pom = Files.readString(Path.of("..", "pom.xml"));
        assertThat(pom.substring(pom.indexOf("<id>quick</id>")).split("</profile>", 2)[0])
                .contains("<spotless.check.skip>true<", "<enforcer.skip>true<");
    }

    /** A running server has it open, and reads classes from it until its end. */
    @Test
    void theJarThatRunsIsNotChangedButReplaced() throws Exception {
        start().await(0);
        Path held = Files.createLink(place.resolve("held.jar"), jar);
        Files.createFile(home.resolve("examples/src/main/New.java"));
        meanwhile("cp \"$PLACE/home/examples/target/rpcrdma.jar\" \"$PLACE/during\"");
        assertThat(start().await(0)).startsWith("runs 2:");
        assertThat(held).hasContent("1");
        assertThat(place.resolve("during")).hasContent("1");
    }

    @Test
    void whatIsEditedDuringTheBuildIsBuiltTheNextTime() throws Exception {
        meanwhile("sleep 0.1; echo edit >examples/src/main/New.java");
        assertThat(start().await(0)).startsWith("runs 1:");
        // Nor may Maven take its own classes for new.
        assertThat(home.resolve("examples/target/quick")).doesNotExist();
        Files.delete(place.resolve("meanwhile"));
        assertThat(start().await(0)).startsWith("runs 2:");
        assertThat(start().await(0)).startsWith("runs 2:");
    }

    @Test
    void oneBuildsAndTheOthersWaitForIt() throws Exception {
        assumeThat(Stream.of("/usr/bin/flock", "/bin/flock"))
                .anyMatch(each -> Files.exists(Path.of(each)));
        Path gate = place.resolve("gate");
        assertThat(new ProcessBuilder("mkfifo", gate.toString()).start().waitFor()).isZero();
        meanwhile("read -r <\"$PLACE/gate\"");
        Run first = start();
        await().until(() -> Files.exists(place.resolve("builds")));
        Run second = start();
        await().until(() -> second.said().contains("waiting for another build"));
        Files.writeString(gate, "go\n");
        assertThat(first.await(0)).startsWith("runs 1:");
        assertThat(second.await(0)).startsWith("runs 1:");
        assertThat(builds()).hasSize(1);
    }

    @Test
    void aBuildThatFailsIsToldAndLeavesTheJarAlone() throws Exception {
        start().await(0);
        Files.createFile(home.resolve("examples/src/main/New.java"));
        meanwhile("echo '[ERROR] New.java: no class'; exit 1");
        Run failed = start();
        assertThat(failed.await(1)).isEmpty();
        assertThat(failed.said()).contains("[ERROR] New.java: no class", "the build failed");
        assertThat(jar).hasContent("1");
        Files.delete(place.resolve("meanwhile"));
        assertThat(start().await(0)).startsWith("runs 3:");
    }

    @Test
    void aJvmThatCannotRunIsToldInOneLine() throws Exception {
        script("java", "#!/bin/bash\nprintf 'Error: no VM\\nsecond line\\nthird\\n' >&2\nexit 1\n");
        assertFailsInOneLine("java -version' fails: Error: no VM");
        script("java", "#!/bin/bash\necho 'openjdk version \"11.0.2\"' >&2\n");
        assertFailsInOneLine("java is Java 11, and Java 17 or newer is needed");
        script("java", "#!/bin/bash\necho 'Picked up JAVA_TOOL_OPTIONS: -Da=b' >&2\n");
        assertFailsInOneLine("java is Java of an unknown version");
    }

    private void assertFailsInOneLine(String what) throws Exception {
        Run run = start();
        assertThat(run.await(1)).isEmpty();
        assertThat(run.said().lines())
                .singleElement()
                .asString()
                .startsWith("rpcrdma: ")
                .contains(what);
        assertThat(place.resolve("builds")).doesNotExist();
    }
}
