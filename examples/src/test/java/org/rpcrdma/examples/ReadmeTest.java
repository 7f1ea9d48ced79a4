// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The programs in README.md run as they are printed there. */
class ReadmeTest {

    private static final int LINES_MAX = 30;

    @TempDir private Path directory;

    private PrintedPrograms readme;

    @BeforeEach
    void setUp() {
        readme = new PrintedPrograms("README.md", directory);
    }

    @Test
    void theClientIsAnsweredByTheServer() throws Exception {
        String port = PrintedPrograms.freePort();
        assertThat(readme.source("Server").lines().count()).isLessThanOrEqualTo(LINES_MAX);
        assertThat(readme.source("Client").lines().count()).isLessThanOrEqualTo(LINES_MAX);
        Process server = readme.startServer("Server", port);
        try {
            Process client = readme.process("Client", port).start();
            try {
                assertThat(client.waitFor(PrintedPrograms.PATIENCE_SECONDS, TimeUnit.SECONDS))
                        .isTrue();
                assertThat(readme.output("Client")).isEqualTo("hello, world\n");
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
                    readme.process("Server", Integer.toString(other.getLocalPort()))
                            .redirectErrorStream(true)
                            .start();
            try {
                assertThat(server.waitFor(PrintedPrograms.PATIENCE_SECONDS, TimeUnit.SECONDS))
                        .isTrue();
                assertThat(server.exitValue()).isEqualTo(1);
                assertThat(readme.output("Server"))
                        .contains("Cannot listen at /127.0.0.1:" + other.getLocalPort())
                        .doesNotContain("\tat ");
            } finally {
                server.destroyForcibly();
            }
        }
    }
}
