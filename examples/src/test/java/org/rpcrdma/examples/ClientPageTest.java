// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The programs in docs/client.md run as they are printed there, and are as short as it says. */
class ClientPageTest {

    private static final int OF_VIRTUAL_THREADS = 21;

    @TempDir private Path directory;

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
        String port = PrintedPrograms.freePort();
        Process server = new PrintedPrograms("README.md", directory).startServer("Server", port);
        try {
            Process client = page.process(name, port).start();
            try {
                assertThat(client.waitFor(PrintedPrograms.PATIENCE_SECONDS, TimeUnit.SECONDS))
                        .isTrue();
                assertThat(page.output(name)).isEqualTo(lines.replace(',', '\n') + '\n');
                assertThat(client.exitValue()).isZero();
            } finally {
                client.destroyForcibly();
            }
        } finally {
            server.destroyForcibly();
        }
    }
}
