// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.IOException;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.VersionTwoConfig;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** The options of all commands that have a connection of RPC-over-RDMA to another process. */
final class ConnectionOptions {

    @Mixin
    @SuppressWarnings("UnusedVariable") // picocli needs the field
    private Device device;

    @Mixin private Capture capture;

    @Spec(Target.MIXEE)
    private CommandSpec spec;

    @Option(
            names = "--highest-version",
            defaultValue = "1",
            paramLabel = "NUMBER",
            description =
                    "The highest version of RPC-over-RDMA that is spoken, 1 or 2 (default:"
                            + " ${DEFAULT-VALUE}).")
    private int highestVersion;

    RpcRdmaConfig.Builder applyTo(RpcRdmaConfig.Builder config) throws IOException {
        Check.range(spec, "--highest-version", highestVersion, 1, 2);
        return capture.applyTo(
                highestVersion == 1 ? config : config.versionTwo(VersionTwoConfig.defaults()));
    }
}
