// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Tests of all modules wait for events, and let no time pass. */
class RealTimeTest {

    private static final Path ROOT = Path.of("..");

    /** Event loops stay for two seconds where they are not told for how long. */
    private static final Pattern PASSES_TIME =
            Pattern.compile(
                    "\\b(?:Thread|TimeUnit\\.[A-Z]+)\\.sleep\\(|\\bparkNanos\\(|\\bshutdownGracefully\\(\\)"
                        + "|\\.pollDelay\\(|\\.during\\(");

    /** Programs of the kernel suite: the other end is a kernel, or the network has real faults. */
    private static final Set<String> EXEMPT =
            Set.of("CallbackChecks.java", "Rstream.java", "ImpairedClient.java");

    @Test
    void noTestLetsTimePass() throws IOException {
        List<String> found = new ArrayList<>();
        List<Path> sources = sources();
        assertThat(sources).hasSizeGreaterThan(250);
        for (Path source : sources) {
            List<String> lines = Files.readAllLines(source);
            for (int i = 0; i < lines.size(); i++) {
                if (PASSES_TIME.matcher(lines.get(i)).find()) {
                    found.add(
                            ROOT.relativize(source) + ":" + (i + 1) + ": " + lines.get(i).strip());
                }
            }
        }
        assertThat(found)
                .as(
                        "wait for an event, drive the clock, or give shutdownGracefully no quiet"
                                + " period")
                .isEmpty();
    }

    private static List<Path> sources() throws IOException {
        List<Path> all = new ArrayList<>();
        try (Stream<Path> modules = Files.find(ROOT, 4, (path, is) -> path.endsWith("src/test"))) {
            for (Path tests : (Iterable<Path>) modules::iterator) {
                try (Stream<Path> files = Files.walk(tests)) {
                    files.filter(file -> file.getFileName().toString().endsWith(".java"))
                            .filter(file -> !EXEMPT.contains(file.getFileName().toString()))
                            .filter(file -> !file.endsWith("RealTimeTest.java"))
                            .forEach(all::add);
                }
            }
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
        return all;
    }
}
