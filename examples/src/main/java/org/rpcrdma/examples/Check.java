// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/** Checks of option values. */
final class Check {

    private static final int PORT_MAX = 65535;

    private Check() {}

    static void port(CommandSpec spec, String option, int value) {
        if (value < 0 || value > PORT_MAX) {
            throw new ParameterException(
                    spec.commandLine(),
                    option + " " + value + " is no port (expected: 0 to " + PORT_MAX + ")");
        }
    }

    static void atLeastOne(CommandSpec spec, String option, long value) {
        if (value < 1) {
            throw new ParameterException(
                    spec.commandLine(), option + " " + value + " (expected: 1 or more)");
        }
    }
}
