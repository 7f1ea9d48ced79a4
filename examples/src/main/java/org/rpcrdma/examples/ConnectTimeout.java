// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.time.Duration;
import org.rpcrdma.examples.common.RpcConnection;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** The option of all commands that connect to a server. */
final class ConnectTimeout {

    private static final int MOST_SECONDS = 3600;

    @Spec(Target.MIXEE)
    private CommandSpec spec;

    @Option(
            names = "--connect-timeout",
            paramLabel = "SECONDS",
            description = "How long a connection may take to open (default: ${DEFAULT-VALUE}).")
    private int seconds = (int) RpcConnection.CONNECT_TIMEOUT.toSeconds();

    Duration checked() {
        Check.range(spec, "--connect-timeout", seconds, 1, MOST_SECONDS);
        return Duration.ofSeconds(seconds);
    }
}
