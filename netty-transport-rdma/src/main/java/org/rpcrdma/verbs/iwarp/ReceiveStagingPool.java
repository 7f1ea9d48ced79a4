// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.iwarp.mpa.AbstractStagingBufferReceiver;
import org.rpcrdma.verbs.iwarp.mpa.FpduLayout;

/**
 * Lends the streams of one thread the buffers that they receive into, within the budget for direct memory. Where that
 * is used up a buffer is on the heap, which costs a copy: a connection that stands does not end because others need
 * memory.
 */
final class ReceiveStagingPool {

    /** The most buffers kept for the next stream, and the most that idle streams may keep. */
    static final int KEPT = 32;

    /** Room for 16 replies of 4 KiB, so that one read has all of them; of a large one only the beginning is staged. */
    private static final int PLAIN_BYTES = 72 * 1024;

    /** With the CRC or markers, FPDUs are staged whole: one of the largest size and a part of the next. */
    static final int WHOLE_BYTES = FpduLayout.MAX_BYTES + 64 * 1024;

    private final DirectMemoryBudget budget;
    private final int bytes;
    private final ArrayDeque<ByteBuffer> free = new ArrayDeque<>();
    private int lent;

    private ReceiveStagingPool(DirectMemoryBudget budget, int bytes) {
        this.budget = budget;
        this.bytes = bytes;
    }

    /** For streams whose FPDUs are handled piece by piece. */
    static ReceiveStagingPool plain(DirectMemoryBudget budget) {
        return new ReceiveStagingPool(budget, PLAIN_BYTES);
    }

    /** For streams whose FPDUs are staged whole: each buffer has room for one of any size. */
    static ReceiveStagingPool whole(DirectMemoryBudget budget) {
        return new ReceiveStagingPool(budget, WHOLE_BYTES);
    }

    /** Gives a buffer to a reader that is about to receive, if it has none. */
    void lend(AbstractStagingBufferReceiver reader) {
        if (reader.lent() != null) {
            return;
        }
        ByteBuffer buffer = free.pollLast();
        reader.staging(buffer == null ? allocate() : buffer.clear());
        lent++;
    }

    private ByteBuffer allocate() {
        try {
            return budget.allocate(bytes);
        } catch (IllegalStateException e) {
            return ByteBuffer.allocate(bytes);
        }
    }

    /**
     * Takes the buffer of a reader back that has received. It may keep one with much in it, which would have to be
     * copied, as long as only a few do: a peer that sends half an FPDU and no more pins what it has sent.
     */
    void takeBack(AbstractStagingBufferReceiver reader) {
        boolean stays =
                reader.staged() > AbstractStagingBufferReceiver.FEW_BYTES
                        && lent <= KEPT
                        && reader.lent() != null
                        && reader.lent().isDirect();
        if (!stays) {
            give(reader.takeStaging());
        }
    }

    /** Takes the buffer of a reader back that receives no more. */
    void drop(AbstractStagingBufferReceiver reader) {
        give(reader.dropStaging());
    }

    private void give(ByteBuffer buffer) {
        if (buffer == null) {
            return;
        }
        lent--;
        if (!buffer.isDirect()) {
            return;
        }
        if (free.size() < KEPT) {
            free.addLast(buffer);
        } else {
            budget.free(buffer);
        }
    }

    /** Frees unused buffers. */
    void close() {
        free.forEach(budget::free);
        free.clear();
    }
}
