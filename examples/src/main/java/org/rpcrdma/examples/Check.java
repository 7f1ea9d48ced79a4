// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/** Checks of option values. */
final class Check {

    private static final int PORT_MAX = 65535;

    private Check() {}

    /** A port, or 0 to have one chosen. */
    static void port(CommandSpec spec, String option, int value) {
        range(spec, option, value, 0, PORT_MAX);
    }

    static void atLeast(CommandSpec spec, String option, long value, long least) {
        range(spec, option, value, least, Long.MAX_VALUE);
    }

    static void range(CommandSpec spec, String option, long value, long least, long most) {
        if (value < least || value > most) {
            String upTo = most == Long.MAX_VALUE ? "or more" : "to " + most;
            throw new ParameterException(
                    spec.commandLine(),
                    option + " " + value + " (expected: " + least + " " + upTo + ")");
        }
    }
}
