// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import picocli.CommandLine.Option;

/** The option that shows what the commands otherwise keep to themselves. */
final class Verbosity {

    static final String PROPERTY = "org.rpcrdma.examples.verbose";
    private static final String LEVEL_OF = "org.slf4j.simpleLogger.log.";

    @Option(
            names = {"-v", "--verbose"},
            description = "Log what happens, and show stack traces.")
    void setVerbose(boolean verbose) {
        if (verbose) {
            System.setProperty(PROPERTY, "true");
            // Read when the first logger is made, which is after the options are.
            System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "debug");
        }
    }

    /** Keeps warnings of a package back, unless all is to be shown; before anything of it has run. */
    static void expectWarningsOf(String packageName) {
        if (!Boolean.getBoolean(PROPERTY)) {
            System.setProperty(LEVEL_OF + packageName, "error");
        }
    }
}
