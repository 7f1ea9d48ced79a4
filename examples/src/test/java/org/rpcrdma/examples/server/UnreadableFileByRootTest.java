// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The tests of {@link UnreadableFileTest} in a process of root whose capabilities to go past modes are taken away
 * (capabilities(7)). Another user could not read the class path below the home directory of root.
 */
class UnreadableFileByRootTest {

    /** A process of root gets all that it can inherit, and all that is in its bounding set. */
    private static final List<String> WITHOUT_RIGHTS =
            List.of(
                    "setpriv",
                    "--inh-caps=-dac_override,-dac_read_search",
                    "--bounding-set=-dac_override,-dac_read_search");

    private static final String JAVA =
            Path.of(System.getProperty("java.home"), "bin", "java").toString();

    private static final String CLASS_PATH =
            System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));

    @TempDir private Path directory;

    @Test
    void modesKeepOutRootWithoutItsRights() throws Exception {
        assumeThat(UnreadableFileTest.mayAll(directory)).as("is root").isTrue();
        assumeThat(canTakeRightsAway())
                .as("setpriv(1) of util-linux leaves root what the tests need, and not more")
                .isTrue();
        List<String> line = new ArrayList<>(WITHOUT_RIGHTS);
        // It is over before the optimizing compiler pays.
        line.addAll(List.of(JAVA, "-ea", "-Xmx256m", "-XX:TieredStopAtLevel=1"));
        line.add("--add-opens=java.base/sun.nio.ch=ALL-UNNAMED");
        line.add("--add-opens=java.base/java.io=ALL-UNNAMED");
        line.addAll(List.of("-cp", CLASS_PATH));
        line.addAll(List.of(UnreadableFileByRootTest.class.getName(), directory.toString()));
        Process tests = new ProcessBuilder(line).redirectErrorStream(true).start();
        try {
            String said = new String(tests.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(tests.waitFor()).as(said).isZero();
            assertThat(said.lines().filter(each -> each.startsWith("passed: ")))
                    .as(said)
                    .hasSize((int) tests().count())
                    .contains("passed: aModeThatLetsNobodyInIsTakenBack");
        } finally {
            tests.destroyForcibly();
        }
    }

    /** Whether a mode keeps such a process out, and nothing keeps it from the JVM and its classes. */
    private boolean canTakeRightsAway() throws InterruptedException {
        List<String> line = new ArrayList<>(WITHOUT_RIGHTS);
        line.addAll(
                List.of("sh", "-c", "[ ! -r \"$0\" ] && for i; do [ -r \"$i\" ] || exit 1; done"));
        line.add(directory.resolve(UnreadableFileTest.UNREADABLE).toString());
        line.add(JAVA);
        Stream.of(CLASS_PATH.split(File.pathSeparator, -1))
                .filter(each -> !each.isEmpty() && Files.exists(Path.of(each)))
                .forEach(line::add);
        try {
            return new ProcessBuilder(line)
                            .redirectErrorStream(true)
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .start()
                            .waitFor()
                    == 0;
        } catch (IOException e) {
            return false;
        }
    }

    private static Stream<Method> tests() {
        return Stream.of(UnreadableFileTest.class.getDeclaredMethods())
                .filter(each -> each.isAnnotationPresent(Test.class));
    }

    /** In the process. */
    public static void main(String... args) throws Exception {
        for (Method each : tests().toList()) {
            UnreadableFileTest test = new UnreadableFileTest();
            test.directory = Files.createTempDirectory(Path.of(args[0]), "export");
            test.state = Files.createTempDirectory(Path.of(args[0]), "state");
            test.serve();
            try {
                each.invoke(test);
            } finally {
                test.stop();
            }
            System.out.println("passed: " + each.getName());
        }
    }
}
