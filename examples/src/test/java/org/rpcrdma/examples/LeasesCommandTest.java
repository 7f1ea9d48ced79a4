// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;

class LeasesCommandTest {

    @Test
    void theLeaseGoesRound() {
        StringWriter out = new StringWriter();
        int status =
                Main.commandLine()
                        .setOut(new PrintWriter(out))
                        .execute("leases", "--clients", "2", "--rounds", "2");
        assertThat(status).isZero();
        assertThat(out.toString().lines())
                .containsExactly(
                        "device iwarp, the software RNIC",
                        "client 1 has /report.txt",
                        "client 1 gives /report.txt back",
                        "client 2 has /report.txt",
                        "client 2 gives /report.txt back",
                        "client 1 has /report.txt",
                        "client 1 gives /report.txt back",
                        "client 2 has /report.txt");
    }
}
