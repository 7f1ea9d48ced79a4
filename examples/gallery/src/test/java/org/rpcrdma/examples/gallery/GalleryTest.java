// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each program runs to its end, and prints what it is about. */
class GalleryTest {

    private static final int LINES = 60;

    private static final Map<String, List<String>> PRINTED = Map.ofEntries(
            Map.entry("binding", List.of("reply: 500000 bytes", "placed by RDMA Write: 500000 bytes")),
            Map.entry("echo", List.of("echoed: hello, stream")),
            Map.entry("grpc", List.of("unary: hello, Ada 1", "streaming: hello, Grace 1", "streaming: hello, Grace 2",
                    "streaming: hello, Grace 3")),
            Map.entry("hadoop", List.of("echoed: 42")),
            Map.entry("http", List.of("GET: 200 OK, 1000000 bytes")),
            Map.entry("http2", List.of("stream: 200 /a", "stream: 200 /b", "stream: 200 /c")),
            Map.entry("lettuce", List.of("SET: OK, GET: value")),
            Map.entry("metrics", List.of("rdma_channels 3.0", "rpcrdma_calls_total{role=\"requester\"} 3.0",
                    "rpcrdma_calls_total{role=\"responder\"} 3.0")),
            Map.entry("oncrpc4j", List.of("twice 21: 42")),
            Map.entry("reactor-netty", List.of("GET: hello by HTTP/1.1")),
            Map.entry("reverse", List.of("server is called", "client is called", "the client has answered")),
            Map.entry("sink", List.of("in the message: 4 bytes", "in the sink: 500000 bytes")),
            Map.entry("vertx", List.of("GET: hello by HTTP_1_1")),
            Map.entry("websocket", List.of("frame: heard: hello, socket")));

    static Stream<String> names() {
        return Gallery.PROGRAMS.keySet().stream();
    }

    @ParameterizedTest
    @MethodSource("names")
    void theProgramSaysWhatHappened(String name) throws Exception {
        PrintStream standard = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        try {
            Gallery.main(new String[] {name});
        } finally {
            System.setOut(standard);
        }
        assertThat(printed.toString(StandardCharsets.UTF_8).lines())
                .containsExactlyElementsOf(PRINTED.get(name));
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
