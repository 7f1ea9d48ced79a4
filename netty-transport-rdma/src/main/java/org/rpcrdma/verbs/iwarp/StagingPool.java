// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import org.rpcrdma.verbs.DirectMemory;
import org.rpcrdma.verbs.iwarp.mpa.Fpdu;

/** Lends streams the buffers that they receive into, within the budget for direct memory. */
final class StagingPool {

    private static final int KEPT = 32;

    /** Enough for many small messages; of a large one only the beginning is staged. */
    private static final int PLAIN_BYTES = 16 * 1024;

    /** With the CRC or markers, FPDUs are staged whole: one of the largest size and a part of the next. */
    private static final int WHOLE_BYTES = Fpdu.MAX_BYTES + 64 * 1024;

    private final ArrayDeque<ByteBuffer> plain = new ArrayDeque<>();
    private final ArrayDeque<ByteBuffer> whole = new ArrayDeque<>();

    /**
     * Lends a buffer until {@link #give}.
     *
     * @param forWholeFpdus whether it has room for an FPDU of any size
     * @throws IllegalStateException when there is no memory for it
     */
    ByteBuffer take(boolean forWholeFpdus) {
        ByteBuffer buffer = (forWholeFpdus ? whole : plain).pollLast();
        return buffer != null
                ? buffer.clear()
                : DirectMemory.jvm().allocate(forWholeFpdus ? WHOLE_BYTES : PLAIN_BYTES);
    }

    /** @param buffer what {@link #take} returned; {@code null} does nothing */
    void give(ByteBuffer buffer) {
        if (buffer == null) {
            return;
        }
        ArrayDeque<ByteBuffer> pool = buffer.capacity() == WHOLE_BYTES ? whole : plain;
        if (pool.size() < KEPT) {
            pool.addLast(buffer);
        } else {
            DirectMemory.jvm().free(buffer);
        }
    }

    /** Frees what is not lent. */
    void close() {
        plain.forEach(DirectMemory.jvm()::free);
        plain.clear();
        whole.forEach(DirectMemory.jvm()::free);
        whole.clear();
    }
}
