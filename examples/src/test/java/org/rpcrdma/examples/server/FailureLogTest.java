// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class FailureLogTest {

    private final ByteArrayOutputStream said = new ByteArrayOutputStream();

    /** Clients choose names, and names are in the texts of failures. */
    @Test
    void clientsDecideNeitherWhatALineDoesNorHowManyThereAre() {
        PrintStream err = System.err;
        System.setErr(new PrintStream(said, true, StandardCharsets.UTF_8));
        try {
            FailureLog log = new FailureLog();
            for (int i = 0; i < 1000; i++) {
                log.warn("READ", new IOException("a\033[2J\u009bb\nc"));
            }
        } finally {
            System.setErr(err);
        }
        assertThat(said.toString(StandardCharsets.UTF_8).lines().toList())
                .isNotEmpty()
                .hasSizeLessThan(1000)
                .allMatch(line -> line.endsWith("READ failed: java.io.IOException: a?[2J?b?c"));
    }
}
