// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvCQ;
import io.netty.util.collection.IntObjectMap;
import java.io.IOException;

/** Takes completions off the queue in batches, and hands each to the queue pair that its work request names. */
final class CompletionQueue {

    private static final int BATCH = 32;

    private final DataPath path;
    private final IbvCQ queue;
    private final IntObjectMap<DisniQueuePair> queuePairs;
    private final int size;
    private final NativeMemory batch;
    private int next;
    private int end;
    private int leftBehind;

    /** @param queuePairs by serial number; one that is not there hears nothing any more */
    CompletionQueue(DataPath path, IbvCQ queue, IntObjectMap<DisniQueuePair> queuePairs) {
        this.path = path;
        this.queue = queue;
        this.queuePairs = queuePairs;
        this.size = Layout.completionSize();
        this.batch = new NativeMemory(BATCH * size);
    }

    /** Whether there is something to deliver. */
    boolean hasNext() throws IOException {
        if (next == end) {
            next = 0;
            end = 0;
            end = path.poll(queue, batch, BATCH);
            if (end < BATCH) {
                leftBehind = 0; // the queue is empty
            }
        }
        return next != end;
    }

    /** A queue pair that is closed may have left so many completions in the queue. */
    void leave(int count) {
        leftBehind += count;
    }

    /** How many entries may still be taken by completions of queue pairs that are closed. */
    int leftBehind() {
        return leftBehind;
    }

    /** Delivers up to so many completions, and returns how many. */
    int deliver(int budget) throws IOException {
        int delivered = 0;
        while (delivered < budget && hasNext()) {
            int i = next++ * size;
            delivered++;
            long workId = batch.bytes.getLong(i + Layout.WC_ID);
            int status = batch.bytes.getInt(i + Layout.WC_STATUS);
            DisniQueuePair queuePair = queuePairs.get(WorkId.serial(workId));
            if (queuePair == null) {
                leftBehind = Math.max(0, leftBehind - 1);
                continue;
            }
            if (status != Opcodes.SUCCESS) {
                // Verbs fill in nothing but the number and the status then.
                queuePair.completed(workId, status, 0, 0);
                continue;
            }
            boolean isInvalidated =
                    (batch.bytes.getInt(i + Layout.WC_FLAGS) & Opcodes.WC_WITH_INVALIDATE) != 0;
            queuePair.completed(
                    workId,
                    status,
                    batch.bytes.getInt(i + Layout.WC_LENGTH),
                    isInvalidated ? batch.bytes.getInt(i + Layout.WC_INVALIDATED) : 0);
        }
        return delivered;
    }
}
