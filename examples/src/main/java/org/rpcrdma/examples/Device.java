// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import org.rpcrdma.channel.Rdma;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** The options of all commands that speak over RDMA: what with, and how much of it is told. */
final class Device {

    @Mixin
    @SuppressWarnings("UnusedVariable") // picocli needs the field
    private Verbosity verbosity;

    @Spec(Target.MIXEE)
    private CommandSpec spec;

    @Option(
            names = "--device",
            paramLabel = "NAME",
            description = {
                "What RDMA is done with: 'iwarp', the software RNIC; 'ffm' or 'disni', the RDMA"
                        + " devices of this machine, by Java 22 itself or by DiSNI.",
                "Default: the first that 'rpcrdma devices' says is there."
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

    /** What RDMA is done with, in words for a person. */
    static String inUse() {
        String name = Rdma.provider().name();
        return name.equals("iwarp") ? "iwarp, the software RNIC" : name;
    }
}
