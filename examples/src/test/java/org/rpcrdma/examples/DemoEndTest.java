// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A demo that is told to end, as by Ctrl-C, in the middle of its work. */
class DemoEndTest {

    private static final int EXIT_BY_SIGTERM = 128 + 15;

    @TempDir private Path temporary;
    @TempDir private Path other;

    @Test
    void leavesNothingBehind() throws Exception {
        Path big = other.resolve("big");
        try (RandomAccessFile file = new RandomAccessFile(big.toFile(), "rw")) {
            file.setLength(1 << 28); // takes no room on the disk, but time on the way
        }
        Process demo = start("demo", "--file", big.toString());
        try (BufferedReader out = demo.inputReader(StandardCharsets.UTF_8)) {
            assertThat(out.readLine()).startsWith("device ");
            assertThat(out.readLine()).startsWith("file ");
            assertThat(temporary).isDirectoryContaining("glob:**/rpcrdma-demo*");
            demo.toHandle().destroy(); // as destroy(), but the output stays open
            assertThat(demo.waitFor(60, TimeUnit.SECONDS)).isTrue();
            assertThat(demo.exitValue()).isEqualTo(EXIT_BY_SIGTERM);
            assertThat(temporary).isEmptyDirectory();
            // The user has ended it, and is not told that something has failed.
            assertThat(out.lines()).noneMatch(line -> line.startsWith("rpcrdma"));
        } finally {
            demo.destroyForcibly().waitFor();
        }
    }

    private Process start(String... arguments) throws IOException {
        String classPath =
                System.getProperty(
                        "surefire.test.class.path", System.getProperty("java.class.path"));
        List<String> line = new ArrayList<>();
        line.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        line.add("-Xmx256m");
        line.add("--add-opens=java.base/sun.nio.ch=ALL-UNNAMED");
        line.add("--add-opens=java.base/java.io=ALL-UNNAMED");
        line.add("-Djava.io.tmpdir=" + temporary);
        line.add("-XX:-UsePerfData");
        line.add("-cp");
        line.add(classPath);
        line.add(Main.class.getName());
        line.addAll(List.of(arguments));
        return new ProcessBuilder(line).redirectErrorStream(true).start();
    }
}
