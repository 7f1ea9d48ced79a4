// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery42;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each program runs to its end, and prints what it is about. */
class Gallery42Test {

    private static final int LINES = 60;

    private static final Map<String, String> PRINTED = Map.of(
            "netty42", "echoed: hello, stream",
            "reactor-netty42", "GET: hello by HTTP/1.1",
            "vertx5", "GET: hello by HTTP_1_1");

    static Stream<String> names() {
        return Gallery42.PROGRAMS.keySet().stream();
    }

    @ParameterizedTest
    @MethodSource("names")
    void theProgramSaysWhatHappened(String name) throws Exception {
        PrintStream standard = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        try {
            Gallery42.main(new String[] {name});
        } finally {
            System.setOut(standard);
        }
        assertThat(printed.toString(StandardCharsets.UTF_8).lines()).containsExactly(PRINTED.get(name));
    }

    /** The launcher builds this module for these names alone, and the other gallery prints them. */
    @Test
    void launcherAndHelpKnowTheNames() throws IOException {
        String launcher = Files.readString(Path.of("../../rpcrdma"));
        assertThat(launcher).contains(String.join(" | ", Gallery42.PROGRAMS.keySet()) + ")");
        String help = Files.readString(
                Path.of("../gallery/src/main/java/org/rpcrdma/examples/gallery/Gallery.java"));
        assertThat(help).contains(String.join(", ", Gallery42.PROGRAMS.keySet()));
    }

    @Test
    void noProgramIsLongerThanAPage() throws IOException {
        try (Stream<Path> sources = Files.walk(Path.of("src/main/java"))) {
            for (Path source : sources.filter(path -> path.toString().endsWith(".java")).toList()) {
                assertThat(Files.readAllLines(source).stream().filter(line -> !line.startsWith("import ")))
                        .as(source.toString())
                        .hasSizeLessThanOrEqualTo(LINES);
            }
        }
    }
}
