// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.soak;

import java.util.Random;

/**
 * A fault of a link.
 *
 * @param kind what happens
 * @param millis for how long; 0 for what happens once
 * @param amount milliseconds of a delay, bytes of a piece, or bytes that still pass before a cut
 */
record Impairment(Kind kind, long millis, int amount) {

    private static final int LONGEST_DELAY_MILLIS = 200;
    private static final int LONGEST_PIECE = 64;

    /** Bytes that pass before a cut: within a header, a message or a long transfer. */
    private static final int[] CUTS = {1, 64, 4096, 1 << 16, 1 << 20};

    enum Kind {
        /** Each portion of bytes comes later. */
        DELAY,
        /** Bytes go on in small pieces. */
        PIECES,
        /** Nothing goes from client to server. */
        STALL_TO_SERVER,
        /** Nothing goes from server to client. */
        STALL_TO_CLIENT,
        /** Nothing goes either way, and nobody is told. */
        PARTITION,
        /** Both TCP connections are reset at some byte. */
        RESET,
        /** Both TCP connections end in an orderly way at some byte. */
        FINISH
    }

    static final Impairment NONE = new Impairment(Kind.DELAY, 0, 0);

    static Impairment random(Random random, long longestMillis) {
        Kind kind = Kind.values()[random.nextInt(Kind.values().length)];
        long millis = 1 + (long) (random.nextDouble() * random.nextDouble() * longestMillis);
        return switch (kind) {
            case DELAY -> new Impairment(kind, millis, 1 + random.nextInt(LONGEST_DELAY_MILLIS));
            case PIECES -> new Impairment(kind, millis, 1 + random.nextInt(LONGEST_PIECE));
            case RESET, FINISH ->
                    new Impairment(kind, 0, random.nextInt(CUTS[random.nextInt(CUTS.length)]));
            default -> new Impairment(kind, millis, 0);
        };
    }

    boolean isCut() {
        return kind == Kind.RESET || kind == Kind.FINISH;
    }

    boolean stalls(boolean isToServer) {
        return this != NONE
                && (kind == Kind.PARTITION
                        || kind == (isToServer ? Kind.STALL_TO_SERVER : Kind.STALL_TO_CLIENT));
    }

    @Override
    public String toString() {
        return kind
                + (millis > 0 ? " for " + millis + " ms" : "")
                + (amount > 0 ? " (" + amount + ")" : "");
    }
}
