// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import org.rpcrdma.verbs.DirectMemoryBudget;

/**
 * Pool of batches for the {@link FpduSender}s of one thread, within the budget for direct memory. Each has a batch
 * only while something is queued: an idle connection has none. Where the budget is used up there is one on the heap,
 * which costs a copy: a connection that stands does not end because others need memory.
 */
public final class FpduBatchPool {

    /** The buffer that the headers of a batch are made in, without markers. */
    static final int CONTROL_BYTES = 16 * 1024;

    /** With markers whole FPDUs are made in it: one of any size, and one more beside it. */
    private static final int MARKED_BYTES = 2 * MarkerInserter.MAX_FPDU_BYTES;

    /** More than that are needed only while as many peers are slow. */
    private static final int KEPT_BYTES = 512 * 1024;

    private static final int SNAPSHOT_BYTES = FpduSender.BATCH_BYTES + FpduLayout.MAX_BYTES;

    private static final int SNAPSHOTS_KEPT = 4;

    private final DirectMemoryBudget budget;
    private final int controlBytes;
    private final ArrayDeque<FpduBatch> free = new ArrayDeque<>();
    private final ArrayDeque<Snapshot> freeSnapshots = new ArrayDeque<>();

    /** Created lazily. */
    private ByteBuffer fpdu;

    private FpduBatchPool(DirectMemoryBudget budget, int controlBytes) {
        this.budget = budget;
        this.controlBytes = controlBytes;
    }

    /** For streams without markers. */
    public static FpduBatchPool plain(DirectMemoryBudget budget) {
        return new FpduBatchPool(budget, CONTROL_BYTES);
    }

    /** For {@link MarkedFpduSender}s. */
    public static FpduBatchPool marked(DirectMemoryBudget budget) {
        return new FpduBatchPool(budget, MARKED_BYTES);
    }

    /** Lends an empty batch until {@link #give}. */
    FpduBatch take() {
        FpduBatch batch = free.pollLast();
        return batch == null ? new FpduBatch(allocate(controlBytes)) : batch;
    }

    /** Returns a batch, which releases its borrowed views. */
    void give(FpduBatch batch) {
        batch.clear();
        if (batch.control.isDirect() && (free.size() + 1) * controlBytes <= KEPT_BYTES) {
            free.addLast(batch);
        } else {
            free(batch.control);
        }
    }

    /** Lends memory for the payload of a batch. */
    Snapshot takeSnapshot() {
        Snapshot snapshot = freeSnapshots.pollLast();
        return snapshot == null ? new Snapshot(allocate(SNAPSHOT_BYTES)) : snapshot;
    }

    void give(Snapshot snapshot) {
        snapshot.clear();
        if (snapshot.memory.isDirect() && freeSnapshots.size() < SNAPSHOTS_KEPT) {
            freeSnapshots.addLast(snapshot);
        } else {
            free(snapshot.memory);
        }
    }

    /** Shared heap buffer for one FPDU of any size, used by one sender at a time. */
    ByteBuffer fpdu() {
        if (fpdu == null) {
            fpdu = ByteBuffer.allocate(FpduLayout.MAX_BYTES);
        }
        return fpdu.clear();
    }

    private ByteBuffer allocate(int bytes) {
        try {
            return budget.allocate(bytes);
        } catch (IllegalStateException e) {
            return ByteBuffer.allocate(bytes);
        }
    }

    private void free(ByteBuffer memory) {
        if (memory.isDirect()) {
            budget.free(memory);
        }
    }

    /** Frees unused batches. */
    public void close() {
        free.forEach(batch -> free(batch.control));
        free.clear();
        freeSnapshots.forEach(snapshot -> free(snapshot.memory));
        freeSnapshots.clear();
    }

    /** Snapshot of the payload of one batch. */
    static final class Snapshot {
        private final ByteBuffer memory;
        private final ByteBuffer[] views = new ByteBuffer[FpduBatch.VIEWS];
        private int count;

        private Snapshot(ByteBuffer memory) {
            this.memory = memory;
        }

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
