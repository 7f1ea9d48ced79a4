// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import org.rpcrdma.verbs.DirectMemory;

/**
 * What several {@link FpduSender}s of one thread make their batches in, within the budget for direct memory. Each has a
 * batch only while something is queued: an idle connection has none.
 */
public final class Batches {

    /** The least bytes of the buffer that the headers of a batch are made in. */
    public static final int CONTROL_BYTES = 16 * 1024;

    /** More than that are needed only while as many peers are slow. */
    private static final int KEPT = 32;

    private static final int SNAPSHOTS_KEPT = 4;

    private final int controlBytes;
    private final ArrayDeque<Batch> free = new ArrayDeque<>();
    private final ArrayDeque<Snapshot> freeSnapshots = new ArrayDeque<>();

    public Batches() {
        this(CONTROL_BYTES);
    }

    /**
     * @param controlBytes of the buffer that the headers of a batch are made in, at least {@link #CONTROL_BYTES}; with
     *     markers whole FPDUs are, and it has room for one of any size: {@link Markers#MAX_FPDU_BYTES}
     */
    public Batches(int controlBytes) {
        this.controlBytes = controlBytes;
    }

    /**
     * Lends an empty batch until {@link #give}.
     *
     * @throws IllegalStateException when there is no memory for it
     */
    Batch take() {
        Batch batch = free.pollLast();
        return batch == null ? new Batch(DirectMemory.jvm().allocate(controlBytes)) : batch;
    }

    /** Takes a batch back, which gives back what it has borrowed. */
    void give(Batch batch) {
        batch.clear();
        if (free.size() < KEPT) {
            free.addLast(batch);
        } else {
            DirectMemory.jvm().free(batch.control());
        }
    }

    /**
     * Lends memory for the payload of a batch.
     *
     * @throws IllegalStateException when there is none
     */
    Snapshot takeSnapshot() {
        Snapshot snapshot = freeSnapshots.pollLast();
        return snapshot == null ? new Snapshot() : snapshot;
    }

    void give(Snapshot snapshot) {
        snapshot.clear();
        if (freeSnapshots.size() < SNAPSHOTS_KEPT) {
            freeSnapshots.addLast(snapshot);
        } else {
            DirectMemory.jvm().free(snapshot.memory);
        }
    }

    /** Frees what is not lent. */
    public void close() {
        free.forEach(batch -> DirectMemory.jvm().free(batch.control()));
        free.clear();
        freeSnapshots.forEach(snapshot -> DirectMemory.jvm().free(snapshot.memory));
        freeSnapshots.clear();
    }

    /** The payload of one batch, as it was when it was queued. */
    static final class Snapshot {
        private final ByteBuffer memory =
                DirectMemory.jvm().allocate(FpduSender.BATCH_BYTES + Fpdu.MAX_BYTES);
        private final ByteBuffer[] views = new ByteBuffer[Batch.VIEWS];
        private int count;

        /** A copy of what is between position and limit of a view, valid until the snapshot is given back. */
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
