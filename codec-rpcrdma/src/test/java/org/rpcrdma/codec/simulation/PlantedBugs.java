// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The simulator finds defects: each one of {@code planted}, which are written into this project's sources, within the
 * seeds of a plain build.
 *
 * <p>It compiles and takes minutes, so it is not named like a test: the POM names it, for the profile {@code full}.
 */
class PlantedBugs {

    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    private static final List<Path> SOURCES =
            List.of(
                    ROOT.resolve("codec-rpcrdma/src/main/java"),
                    ROOT.resolve("netty-transport-rdma/src/main/java"));

    private static final Path PLANTED =
            ROOT.resolve("codec-rpcrdma/src/test/resources/org/rpcrdma/codec/simulation/planted");

    private static final String ONLY = System.getProperty("simulation.planted", "");

    static List<PlantedBug> bugs() throws IOException {
        try (Stream<Path> files = Files.list(PLANTED)) {
            return files.sorted()
                    .filter(file -> file.getFileName().toString().contains(ONLY))
                    .map(PlantedBug::of)
                    .toList();
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("bugs")
    void aSeedFindsIt(PlantedBug bug, @TempDir Path scratch) throws Exception {
        String failure = bug.find(SOURCES, scratch, WorldSimulationTest.SEEDS);
        System.out.println("planted " + bug + ": " + failure);
        assertThat(failure).as("%s is found", bug).isNotNull();
    }
}
