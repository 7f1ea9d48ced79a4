// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import io.netty.util.collection.IntObjectMap;
import java.io.IOException;
import java.util.stream.LongStream;
import org.rpcrdma.verbs.CompletionError;

/** Takes completions off the queue in batches, and hands each to the queue pair that its work request names. */
@SuppressWarnings("EnumOrdinal") // the array lives and dies with the enum's class
final class CompletionQueue {

    private static final int BATCH = 32;

    /** Room for what comes while one completion is waited for. */
    private static final int ROOM = 1024;

    /** No {@code ibv_wc_status}: the completion has not come, or is not to be delivered. */
    static final int NONE = -1;

    private final NativeDevice device;
    private final IntObjectMap<HardwareQueuePair> queuePairs;
    private final NativeMemory batch;
    private final int invalidationFlags;
    private int next;
    private int end;
    private int leftBehind;

    /** By the ordinal of {@link CompletionError}. Any thread may read, and see numbers that are a little old. */
    private final long[] failed = new long[CompletionError.values().length];

    /** @param queuePairs by serial number; one that is not there hears nothing any more */
    CompletionQueue(NativeDevice device, IntObjectMap<HardwareQueuePair> queuePairs) {
        this.device = device;
        this.queuePairs = queuePairs;
        this.invalidationFlags = device.invalidationFlags();
        this.batch = new NativeMemory(device::address, ROOM * Layout.WC_SIZE);
    }

    /** The completions of work requests that have failed by themselves. */
    long failed() {
        return LongStream.of(failed).sum();
    }

    long failed(CompletionError error) {
        return failed[error.ordinal()];
    }

    /** Whether there is something to deliver. */
    boolean hasNext() throws IOException {
        if (next == end) {
            next = 0;
            end = 0;
            end = device.poll(batch, 0, BATCH);
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

    /**
     * Waits for the completion of a work request that was just posted and waits for nothing itself, and takes it.
     * Those of others are delivered in their turn.
     *
     * @return its {@code ibv_wc_status}, or {@link #NONE} when it does not come
     */
    int await(long workId, long nanos) throws IOException {
        long start = System.nanoTime();
        int seen = end;
        do {
            int most = Math.min(BATCH, ROOM - end);
            end += most == 0 ? 0 : device.poll(batch, end * Layout.WC_SIZE, most);
            for (; seen < end; seen++) {
                int i = seen * Layout.WC_SIZE;
                if (batch.bytes.getLong(i + Layout.WC_ID) == workId) {
                    int status = batch.bytes.getInt(i + Layout.WC_STATUS);
                    batch.bytes.putInt(i + Layout.WC_STATUS, NONE);
                    return status;
                }
            }
            Thread.onSpinWait();
        } while (end < ROOM && System.nanoTime() - start < nanos);
        return NONE;
    }

    /** Delivers up to so many completions, and returns how many. */
    int deliver(int budget) throws IOException {
        int delivered = 0;
        while (delivered < budget && hasNext()) {
            int i = next++ * Layout.WC_SIZE;
            delivered++;
            long workId = batch.bytes.getLong(i + Layout.WC_ID);
            int status = batch.bytes.getInt(i + Layout.WC_STATUS);
            if (status == NONE) {
                continue;
            }
            HardwareQueuePair queuePair = queuePairs.get(WorkId.serial(workId));
            if (queuePair == null) {
                leftBehind = Math.max(0, leftBehind - 1);
                continue;
            }
            if (status != Codes.SUCCESS) {
                if (status != Codes.FLUSHED) {
                    failed[Codes.error(status).ordinal()]++;
                }
                // Verbs fill in nothing but the number and the status then.
                queuePair.completed(workId, status, 0, 0);
                continue;
            }
            if (batch.bytes.getInt(i + Layout.WC_OPCODE) == Codes.WC_RECEIVE_WRITTEN) {
                queuePair.written(
                        workId,
                        batch.bytes.getInt(i + Layout.WC_LENGTH),
                        Codes.immediate(batch.bytes.getInt(i + Layout.WC_IMMEDIATE)));
                continue;
            }
            boolean isInvalidated =
                    (batch.bytes.getInt(i + Layout.WC_FLAGS) & invalidationFlags) != 0;
            queuePair.completed(
                    workId,
                    status,
                    batch.bytes.getInt(i + Layout.WC_LENGTH),
                    isInvalidated ? batch.bytes.getInt(i + Layout.WC_INVALIDATED) : 0);
        }
        return delivered;
    }
}
