// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.VersionTwoConfig;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** The option of all commands that may speak version two of RPC-over-RDMA. */
final class HighestVersion {

    @Spec(Target.MIXEE)
    private CommandSpec spec;

    private int highest = 1;

    @Option(
            names = "--highest-version",
            defaultValue = "1",
            paramLabel = "NUMBER",
            description =
                    "The highest version of RPC-over-RDMA that is spoken, 1 or 2 (default:"
                            + " ${DEFAULT-VALUE}).")
    void highest(int number) {
        if (number != 1 && number != 2) {
            throw new ParameterException(
                    spec.commandLine(), "--highest-version: " + number + " (expected: 1 or 2)");
        }
        highest = number;
    }

    RpcRdmaConfig.Builder applyTo(RpcRdmaConfig.Builder config) {
        return highest == 1 ? config : config.versionTwo(VersionTwoConfig.defaults());
    }
}
