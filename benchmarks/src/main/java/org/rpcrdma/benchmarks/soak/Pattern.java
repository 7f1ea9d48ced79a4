// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.soak;

import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** Data that a number stands for: both ends know each byte, and no two numbers have the same. */
final class Pattern {

    private static final long FACTOR = 0x9e3779b97f4a7c15L;

    /** Buffers are touched in pieces: where leaks are looked for, each access costs a stack trace. */
    private static final int PIECE = 1 << 16;

    private Pattern() {}

    /** Appends data. A multiple of 8 bytes. */
    static void write(ByteBuf to, long number, int bytes) {
        for (int at = 0; at < bytes; at += PIECE) {
            to.writeBytes(piece(number, at, Math.min(PIECE, bytes - at)));
        }
    }

    /** Whether the bytes are those of the number. A multiple of 8 bytes. */
    static boolean is(ByteBuf data, int index, long number, int bytes) {
        for (int at = 0; at < bytes; at += PIECE) {
            byte[] found = new byte[Math.min(PIECE, bytes - at)];
            data.getBytes(index + at, found);
            if (!Arrays.equals(found, piece(number, at, found.length))) {
                return false;
            }
        }
        return true;
    }

    private static byte[] piece(long number, int from, int bytes) {
        ByteBuffer piece = ByteBuffer.allocate(bytes);
        for (int at = from; piece.hasRemaining(); at += Long.BYTES) {
            long word = (number * FACTOR + at) * FACTOR;
            piece.putLong(word ^ (word >>> 29));
        }
        return piece.array();
    }
}
