// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/** Checks of option values. */
final class Check {

    private static final int PORT_MAX = 65535;

    private static final long UNSIGNED_MAX = 0xffff_ffffL;

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

    static void notNegative(CommandSpec spec, String option, long value) {
        if (value < 0) {
            throw new ParameterException(
                    spec.commandLine(), option + " " + value + " (expected: 0 or more)");
        }
    }

    /** A number that goes on the wire as 32 bits without a sign. */
    static void unsigned(CommandSpec spec, String option, long value) {
        if (value < 0 || value > UNSIGNED_MAX) {
            throw new ParameterException(
                    spec.commandLine(),
                    option + " " + value + " (expected: 0 to " + UNSIGNED_MAX + ")");
        }
    }
}
