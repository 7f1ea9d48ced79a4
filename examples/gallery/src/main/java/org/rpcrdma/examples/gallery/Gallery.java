// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery;

import java.util.Map;
import java.util.TreeMap;

/** Runs a program by its name: {@code ./rpcrdma example NAME}. */
public final class Gallery {

    /** A main method. */
    interface Program {
        void run(String... args) throws Exception;
    }

    static final Map<String, Program> PROGRAMS = new TreeMap<>(Map.ofEntries(
            Map.entry("binding", BindingExample::main),
            Map.entry("echo", EchoExample::main),
            Map.entry("grpc", GrpcExample::main),
            Map.entry("hadoop", HadoopExample::main),
            Map.entry("http", HttpFilesExample::main),
            Map.entry("http2", Http2Example::main),
            Map.entry("lettuce", LettuceExample::main),
            Map.entry("metrics", MetricsExample::main),
            Map.entry("oncrpc4j", OncRpc4jExample::main),
            Map.entry("reactor-netty", ReactorNettyExample::main),
            Map.entry("reverse", ReverseCallsExample::main),
            Map.entry("sink", SinkExample::main),
            Map.entry("vertx", VertxExample::main),
            Map.entry("websocket", WebSocketExample::main)));

    private Gallery() {}

    public static void main(String[] args) throws Exception {
        Program program = args.length == 1 ? PROGRAMS.get(args[0]) : null;
        if (program == null) {
            boolean isHelp = args.length == 1 && (args[0].equals("--help") || args[0].equals("-h"));
            String usage = "rpcrdma example NAME, where NAME is one of " + String.join(", ", PROGRAMS.keySet())
                    + "; on Netty 4.2: netty42, reactor-netty42, vertx5";
            (isHelp ? System.out : System.err).println((isHelp ? "Usage: " : "rpcrdma example: name one: ") + usage);
            System.exit(isHelp ? 0 : 2);
            return;
        }
        program.run();
    }
}
