// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import org.rpcrdma.verbs.iwarp.mpa.Fpdu;

/** Keeps the staging buffers of ended streams for new ones, because direct buffers are freed late. */
final class StagingPool {

    private static final int KEPT = 32;

    /** Enough for many small messages; of a large one only the beginning is staged. */
    private static final int PLAIN_BYTES = 16 * 1024;

    /** With the CRC or markers, FPDUs are staged whole: one of the largest size and a part of the next. */
    private static final int CRC_BYTES = Fpdu.MAX_BYTES + 64 * 1024;

    private final ArrayDeque<ByteBuffer> plain = new ArrayDeque<>();
    private final ArrayDeque<ByteBuffer> withCrc = new ArrayDeque<>();

    ByteBuffer take(boolean crc) {
        ByteBuffer buffer = (crc ? withCrc : plain).poll();
        return buffer != null
                ? buffer.clear()
                : ByteBuffer.allocateDirect(crc ? CRC_BYTES : PLAIN_BYTES);
    }

    void give(ByteBuffer buffer) {
        ArrayDeque<ByteBuffer> pool = buffer.capacity() == CRC_BYTES ? withCrc : plain;
        if (pool.size() < KEPT) {
            pool.add(buffer);
        }
    }
}
