// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

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

/** The Java programs of a document, which run as they are printed there. */
final class PrintedPrograms {

    static final int PATIENCE_SECONDS = 120;

    private static final Pattern PROGRAM =
            Pattern.compile(
                    "```java\n((?:(?!```).)*public class (\\w+)(?:(?!```).)*)```", Pattern.DOTALL);

    private final Path document;
    private final Path directory;

    /**
     * @param document below the root of the project
     * @param directory for programs and what they print
     */
    PrintedPrograms(String document, Path directory) {
        this.document = Path.of("..", document);
        this.directory = directory;
    }

    String source(String name) throws IOException {
        Matcher matcher = PROGRAM.matcher(Files.readString(document));
        while (matcher.find()) {
            if (matcher.group(2).equals(name)) {
                return matcher.group(1);
            }
        }
        throw new AssertionError(document + " has no program " + name);
    }

    ProcessBuilder process(String name, String port) throws IOException {
        Path program = Files.writeString(directory.resolve(name + ".java"), source(name));
        List<String> command =
                List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        // It compiles the program first, and is over before the optimizing
                        // compiler pays.
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        program.toString(),
                        "127.0.0.1",
                        port);
        return new ProcessBuilder(command)
                .redirectOutput(directory.resolve(name + ".out").toFile())
                .redirectError(ProcessBuilder.Redirect.INHERIT);
    }

    String output(String name) throws IOException {
        return Files.readString(directory.resolve(name + ".out"));
    }

    /** Starts a server, and waits until it listens or has ended. */
    Process startServer(String name, String port) throws IOException {
        Process server = process(name, port).start();
        Awaitility.await()
                .atMost(PATIENCE_SECONDS, TimeUnit.SECONDS)
                .until(() -> !server.isAlive() || isListening(Integer.parseInt(port)));
        return server;
    }

    private static boolean isListening(int port) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            return socket.isConnected();
        } catch (IOException e) {
            return false;
        }
    }

    static String freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return Integer.toString(socket.getLocalPort());
        }
    }
}
