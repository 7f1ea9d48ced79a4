// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The programs in docs/client.md run as they are printed there, and are as short as it says. */
class ClientPageTest {

    private static final int OF_VIRTUAL_THREADS = 21;

    /** All clients have the same server, which compiles itself first. */
    @TempDir private static Path serversDirectory;

    private static String port;
    private static Process server;

    @TempDir private Path directory;

    @BeforeAll
    static void startServer() throws Exception {
        port = PrintedPrograms.freePort();
        server = new PrintedPrograms("README.md", serversDirectory).startServer("Server", port);
    }

    @AfterAll
    static void stopServer() throws Exception {
        server.destroyForcibly().waitFor();
    }

    @ParameterizedTest
    @CsvSource({
        "First, 15, 17, first",
        "Blocking, 20, 17, 'waited for,PROC_UNAVAIL'",
        "Asynchronous, 20, 17, one and two",
        "Virtual, 20, 21, virtual",
    })
    void aProgramIsAnswered(String name, int mostLines, int java, String lines) throws Exception {
        PrintedPrograms page = new PrintedPrograms("docs/client.md", directory);
        assertThat(page.source(name).lines().filter(line -> !line.isBlank()).count())
                .isLessThanOrEqualTo(mostLines);
        assertThat(java).isLessThanOrEqualTo(OF_VIRTUAL_THREADS);
        assumeTrue(Runtime.version().feature() >= java);
        Process client = page.process(name, port).start();
        try {
            assertThat(client.waitFor(PrintedPrograms.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
            assertThat(page.output(name)).isEqualTo(lines.replace(',', '\n') + '\n');
            assertThat(client.exitValue()).isZero();
        } finally {
            client.destroyForcibly();
        }
    }
}
