// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery42;

import java.util.Map;
import java.util.TreeMap;

/** Runs a program on Netty 4.2 by its name: {@code ./rpcrdma example NAME}. */
public final class Gallery42 {

    /** A main method. */
    interface Program {
        void run(String... args) throws Exception;
    }

    static final Map<String, Program> PROGRAMS = new TreeMap<>(Map.of(
            "netty42", Netty42Example::main,
            "reactor-netty42", ReactorNetty42Example::main,
            "vertx5", Vertx5Example::main));

    private Gallery42() {}

    public static void main(String[] args) throws Exception {
        Program program = args.length == 1 ? PROGRAMS.get(args[0]) : null;
        if (program == null) {
            System.err.println("rpcrdma example: name one: " + String.join(", ", PROGRAMS.keySet()));
            System.exit(2);
            return;
        }
        program.run();
    }
}
