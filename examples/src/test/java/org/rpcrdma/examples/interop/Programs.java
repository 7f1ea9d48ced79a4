// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import java.util.ArrayList;
import java.util.List;

/**
 * Several of the programs in one JVM, which takes long to begin where the machine is emulated. Servers come first; with
 * the last program all end.
 *
 * <pre>
 * Programs Rping ARGUMENT... -- Rstream ARGUMENT... -- Perftest ARGUMENT...
 * </pre>
 */
public final class Programs {

    private Programs() {}

    public static void main(String[] arguments) throws Exception {
        List<String> program = new ArrayList<>();
        int failed = 0;
        for (String argument : arguments) {
            if (argument.equals("--")) {
                failed += run(program);
                program.clear();
            } else {
                program.add(argument);
            }
        }
        System.exit(failed + run(program) == 0 ? 0 : 1);
    }

    private static int run(List<String> program) throws Exception {
        String[] arguments = program.subList(1, program.size()).toArray(String[]::new);
        return switch (program.get(0)) {
            case "Rping" -> Rping.run(arguments);
            case "Rstream" -> Rstream.run(arguments);
            case "Perftest" -> Perftest.run(arguments);
            default -> throw new IllegalArgumentException("program: " + program);
        };
    }
}
