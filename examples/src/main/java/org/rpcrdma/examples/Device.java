// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import org.rpcrdma.channel.Rdma;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** The option of all commands that speak over RDMA: what with. */
final class Device {

    @Spec(Target.MIXEE)
    private CommandSpec spec;

    @Option(
            names = "--device",
            paramLabel = "NAME",
            description = {
                "What RDMA is done with: 'iwarp', the software RNIC, or 'disni', the RDMA devices"
                        + " of this machine.",
                "Default: 'disni' where all that it needs is there, otherwise 'iwarp'."
            })
    void use(String name) {
        try {
            Rdma.provider(name);
        } catch (IllegalArgumentException | UnsatisfiedLinkError e) {
            throw new ParameterException(
                    spec.commandLine(), "--device " + name + ": " + e.getMessage(), e);
        }
        System.setProperty("org.rpcrdma.provider", name);
    }
}
