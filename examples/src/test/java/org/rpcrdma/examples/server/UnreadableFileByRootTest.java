// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The tests of {@link UnreadableFileTest} in a process of root whose capabilities to go past modes are taken away
 * (capabilities(7)). Another user could not read the class path below the home directory of root.
 */
class UnreadableFileByRootTest {

    private static final List<String> WITHOUT_RIGHTS =
            List.of("setpriv", "--bounding-set=-dac_override,-dac_read_search");

    @TempDir private Path directory;

    @Test
    void modesKeepOutRootWithoutItsRights() throws Exception {
        assumeThat(UnreadableFileTest.mayAll(directory)).as("is root").isTrue();
        assumeThat(canTakeRightsAway()).as("has setpriv(1) of util-linux").isTrue();
        List<String> line = new ArrayList<>(WITHOUT_RIGHTS);
        line.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        line.addAll(List.of("-ea", "-Xmx256m"));
        line.add("--add-opens=java.base/sun.nio.ch=ALL-UNNAMED");
        line.add("--add-opens=java.base/java.io=ALL-UNNAMED");
        line.add("-cp");
        line.add(
                System.getProperty(
                        "surefire.test.class.path", System.getProperty("java.class.path")));
        line.add(UnreadableFileByRootTest.class.getName());
        line.add(directory.toString());
        Process tests = new ProcessBuilder(line).redirectErrorStream(true).start();
        String said = new String(tests.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(tests.waitFor()).as(said).isZero();
        assertThat(said).contains("passed: aModeThatLetsNobodyInIsTakenBack");
    }

    private static boolean canTakeRightsAway() throws InterruptedException {
        List<String> line = new ArrayList<>(WITHOUT_RIGHTS);
        line.add("true");
        try {
            return new ProcessBuilder(line).start().waitFor() == 0;
        } catch (IOException e) {
            return false;
        }
    }

    /** In the process. */
    public static void main(String... args) throws Exception {
        for (Method each : UnreadableFileTest.class.getDeclaredMethods()) {
            if (each.isAnnotationPresent(Test.class)) {
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
}
