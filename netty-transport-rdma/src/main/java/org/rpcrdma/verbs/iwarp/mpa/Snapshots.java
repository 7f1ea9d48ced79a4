// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import org.rpcrdma.verbs.DirectMemory;

/**
 * Buffers for the batches of several {@link FpduSender}s of one thread, each of which has one only while it needs it.
 */
public final class Snapshots {

    /** More than that are needed only while as many peers are slow. */
    private static final int KEPT = 4;

    private final ArrayDeque<Batch> free = new ArrayDeque<>();

    Batch take() {
        Batch batch = free.poll();
        return batch == null ? new Batch() : batch;
    }

    void give(Batch batch) {
        batch.clear();
        if (free.size() < KEPT) {
            free.push(batch);
        } else {
            DirectMemory.jvm().free(batch.memory);
        }
    }

    /** Frees what is not taken. */
    public void close() {
        free.forEach(batch -> DirectMemory.jvm().free(batch.memory));
        free.clear();
    }

    /** The payload of one batch, as it was when it was queued. */
    static final class Batch {
        private final ByteBuffer memory =
                DirectMemory.jvm().allocate(FpduSender.BATCH_BYTES + Fpdu.MAX_BYTES);
        private final ByteBuffer[] views = new ByteBuffer[FpduSender.VIEWS];
        private int count;

        /** A copy of what is between position and limit of a view, valid until the batch is given back. */
        ByteBuffer copy(ByteBuffer view) {
            int start = memory.position();
            memory.put(view);
            ByteBuffer copy = views[count];
            if (copy == null) {
                copy = memory.duplicate();
                views[count] = copy;
            }
            count++;
            return copy.limit(memory.position()).position(start);
        }

        private void clear() {
            memory.clear();
            count = 0;
        }
    }
}
