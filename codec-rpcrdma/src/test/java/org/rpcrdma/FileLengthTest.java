// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A file that cannot be read in one go has more than one job, unless it is a table. */
class FileLengthTest {

    private static final int MOST = 450;

    private static final Path HOME =
            Path.of(System.getProperty("basedir")).toAbsolutePath().getParent();

    /** Longer files, and why; one that has become shorter is taken off. */
    private static final Map<String, String> EXCEPTIONS =
            Map.of("Downcalls", "a table: one entry for each function of two C libraries");

    @Test
    void noMainFileIsLong() throws IOException {
        Map<String, Long> tooLong = new TreeMap<>();
        for (String module :
                new String[] {
                    "netty-transport-rdma",
                    "netty-transport-rdma/netty42",
                    "codec-rpcrdma",
                    "examples",
                    "benchmarks",
                    "docs/site"
                }) {
            try (Stream<Path> files = Files.walk(HOME.resolve(module).resolve("src/main"))) {
                for (Path file : (Iterable<Path>) files::iterator) {
                    String name = file.getFileName().toString();
                    if (name.endsWith(".java")) {
                        count(tooLong, name.replace(".java", ""), file);
                    }
                }
            }
        }
        assertThat(tooLong.keySet()).containsExactlyInAnyOrderElementsOf(EXCEPTIONS.keySet());
    }

    private static void count(Map<String, Long> tooLong, String name, Path file)
            throws IOException {
        try (Stream<String> lines = Files.lines(file)) {
            long count = lines.count();
            if (count > MOST) {
                tooLong.put(name, count);
            }
        }
    }
}
