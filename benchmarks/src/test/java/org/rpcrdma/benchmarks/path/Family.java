// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.path;

/** Parts that a path is divided into: by the package, so that classes may move and be renamed below it. */
enum Family {
    CODEC("org.rpcrdma.codec."),
    CHANNEL("org.rpcrdma.channel.", "org.rpcrdma.stream."),
    VERBS("org.rpcrdma.verbs."),
    NETTY("io.netty."),
    /** What is neither: record marking, and packages that are new. */
    OTHER("org.rpcrdma.");

    private static final String BENCHMARKS = "org.rpcrdma.benchmarks.";
    private static final String SIMULATION = "org.rpcrdma.verbs.iwarp.Simulat";

    private final String prefix;
    private final String otherPrefix;

    Family(String prefix) {
        this(prefix, prefix);
    }

    Family(String prefix, String otherPrefix) {
        this.prefix = prefix;
        this.otherPrefix = otherPrefix;
    }

    /** {@return the family of a class; {@code null} when it is not counted} */
    static Family of(String className) {
        if (className.startsWith(BENCHMARKS) || className.startsWith(SIMULATION)) {
            return null;
        }
        for (Family family : values()) {
            if (className.startsWith(family.prefix) || className.startsWith(family.otherPrefix)) {
                return family;
            }
        }
        return null;
    }

    String label() {
        return switch (this) {
            case CODEC -> "codec";
            case CHANNEL -> "channel";
            case VERBS -> "verbs";
            case NETTY -> "Netty";
            case OTHER -> "other";
        };
    }
}
