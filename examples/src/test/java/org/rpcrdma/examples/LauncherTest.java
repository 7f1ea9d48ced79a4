// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What the launcher tells the JVM. */
class LauncherTest {

    private static final int EXIT_BY_OUT_OF_MEMORY = 3;

    /** A server without memory would answer nobody, and not end when it is told to. */
    @Test
    void theProcessEndsWhenItsHeapIsExhausted() throws Exception {
        List<String> line = new ArrayList<>();
        line.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        Files.readString(Path.of("..", "rpcrdma"))
                .lines()
                .dropWhile(each -> !each.equals("flags=("))
                .skip(1)
                .takeWhile(each -> !each.equals(")"))
                .forEach(each -> line.addAll(List.of(each.strip().split(" +"))));
        assertThat(line).hasSizeGreaterThan(1);
        line.addAll(List.of("-Xms16m", "-Xmx16m", "-cp"));
        line.add(
                System.getProperty(
                        "surefire.test.class.path", System.getProperty("java.class.path")));
        line.add(Exhausted.class.getName());
        Process process =
                new ProcessBuilder(line)
                        .redirectErrorStream(true)
                        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                        .start();
        try {
            assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
            assertThat(process.exitValue()).isEqualTo(EXIT_BY_OUT_OF_MEMORY);
        } finally {
            process.destroyForcibly();
        }
    }

    /** A thread of many runs out of memory, and the others stay. */
    static final class Exhausted {

        private Exhausted() {}

        public static void main(String[] args) throws InterruptedException {
            new Thread(Exhausted::takeAll).start();
            new CountDownLatch(1).await();
        }

        private static void takeAll() {
            List<byte[]> taken = new ArrayList<>();
            while (taken.size() < Integer.MAX_VALUE) {
                taken.add(new byte[1 << 20]);
            }
        }
    }
}
