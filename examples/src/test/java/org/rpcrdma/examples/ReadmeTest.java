// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The programs in README.md run as they are printed there. */
class ReadmeTest {

    private static final Pattern PROGRAM =
            Pattern.compile(
                    "```java\n((?:(?!```).)*public class (\\w+)(?:(?!```).)*)```", Pattern.DOTALL);
    private static final int LINES_MAX = 30;
    private static final int PATIENCE_SECONDS = 120;

    @TempDir private Path directory;

    @Test
    void theClientIsAnsweredByTheServer() throws Exception {
        String port = Integer.toString(freePort());
        Process server = start(program("Server"), port);
        try {
            Awaitility.await()
                    .atMost(PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .until(() -> !server.isAlive() || isListening(Integer.parseInt(port)));
            Process client = start(program("Client"), port);
            try {
                assertThat(client.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
                assertThat(Files.readString(directory.resolve("Client.out")))
                        .isEqualTo("SUCCESS hello, world\n");
                assertThat(client.exitValue()).isZero();
            } finally {
                client.destroyForcibly();
            }
        } finally {
            server.destroyForcibly();
        }
    }

    @Test
    void aServerWhosePortIsInUseEndsAndSaysSo() throws Exception {
        try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Process server =
                    process(program("Server"), Integer.toString(other.getLocalPort()))
                            .redirectErrorStream(true)
                            .start();
            try {
                assertThat(server.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
                assertThat(server.exitValue()).isEqualTo(1);
                assertThat(Files.readString(directory.resolve("Server.out")))
                        .contains("Cannot listen at /127.0.0.1:" + other.getLocalPort())
                        .doesNotContain("\tat ");
            } finally {
                server.destroyForcibly();
            }
        }
    }

    private Path program(String name) throws IOException {
        Matcher matcher = PROGRAM.matcher(Files.readString(Path.of("..", "README.md")));
        while (matcher.find()) {
            if (matcher.group(2).equals(name)) {
                assertThat(matcher.group(1).lines().toList()).hasSizeLessThanOrEqualTo(LINES_MAX);
                return Files.writeString(directory.resolve(name + ".java"), matcher.group(1));
            }
        }
        throw new AssertionError("README.md has no program " + name);
    }

    private Process start(Path program, String port) throws IOException {
        return process(program, port).start();
    }

    private ProcessBuilder process(Path program, String port) {
        List<String> command =
                List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        program.toString(),
                        "127.0.0.1",
                        port);
        String name = program.getFileName().toString().replace(".java", "");
        return new ProcessBuilder(command)
                .redirectOutput(directory.resolve(name + ".out").toFile())
                .redirectError(ProcessBuilder.Redirect.INHERIT);
    }

    private static boolean isListening(int port) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            return socket.isConnected();
        } catch (IOException e) {
            return false;
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }
}
