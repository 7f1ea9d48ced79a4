// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import io.netty.util.collection.IntObjectMap;
import java.io.IOException;
import java.util.stream.LongStream;
import org.rpcrdma.verbs.CompletionError;

/** Takes completions off the queue in batches, and hands each to the queue pair that its work request names. */
@SuppressWarnings("EnumOrdinal") // the array lives and dies with the enum's class
final class CompletionQueue {

    /** Queue pair, as the completions of its work requests concern it. */
    interface Target {

        /**
         * The device has completed a work request.
         *
         * @param status an {@code ibv_wc_status}
         */
        void completed(long workId, int status, int length, int invalidatedKey);

        /** The device has completed a receive because the peer has written, and nothing was received. */
        void written(long workId, int length, int immediate);

        /** Neither of the two has returned: something was thrown, which the others are not to suffer from. */
        void failed(Throwable cause);
    }

    private static final int BATCH = 32;

    /** Initial capacity for completions that arrive while waiting for one, a multiple of a batch. */
    private static final int FIRST_ROOM = 4 * BATCH;

    /** No {@code ibv_wc_status}: the completion has not come. */
    static final int NONE = -1;

    private final NativeEventLoopDevice device;
    private final IntObjectMap<? extends Target> queuePairs;
    private final int invalidationFlags;

    /** Completions that were taken off the queue; those from {@link #next} to {@link #end} are to be delivered. */
    private NativeMemory taken;

    /** So many completions have room there. */
    private int room = FIRST_ROOM;

    private int next;
    private int end;
    private int leftBehind;

    /** By the ordinal of {@link CompletionError}. Any thread may read, and see numbers that are a little old. */
    private final long[] failed = new long[CompletionError.values().length];

    /** @param queuePairs by serial number; completions of absent ones are dropped */
    CompletionQueue(NativeEventLoopDevice device, IntObjectMap<? extends Target> queuePairs) {
        this.device = device;
        this.queuePairs = queuePairs;
        this.invalidationFlags = device.invalidationFlags();
        this.taken = newRoom(room);
    }

    private NativeMemory newRoom(int completions) {
        return new NativeMemory(device::address, completions * WorkRequestLayout.WC_SIZE);
    }

    /** The completions of work requests that have failed by themselves. */
    long failed() {
        return LongStream.of(failed).sum();
    }

    long failed(CompletionError error) {
        return failed[error.ordinal()];
    }

    /** Polls the device if nothing is left of the last poll; returns whether there is something to deliver. */
    boolean tryFetch() throws IOException {
        if (next == end) {
            next = 0;
            end = 0;
            end = device.poll(taken, 0, BATCH);
            if (end < BATCH) {
                leftBehind = 0; // the queue is empty
            }
        }
        return next != end;
    }

    /** Adds to the number of completions that a closed queue pair may have left in the queue. */
    void leave(int count) {
        leftBehind += count;
    }

    /** How many entries may still be taken by completions of queue pairs that are closed. */
    int leftBehind() {
        return leftBehind;
    }

    /**
     * Waits for the completion of a work request just posted, which depends on no other work, and consumes it. Those of
     * others are delivered in their turn.
     *
     * @return its {@code ibv_wc_status}, or {@link #NONE} when it does not come
     */
    int await(long workId, long nanos) throws IOException {
        long start = System.nanoTime();
        int seen = end - next;
        do {
            makeRoom();
            end += device.poll(taken, end * WorkRequestLayout.WC_SIZE, BATCH);
            for (; next + seen < end; seen++) {
                int i = (next + seen) * WorkRequestLayout.WC_SIZE;
                if (taken.bytes.getLong(i + WorkRequestLayout.WC_ID) == workId) {
                    int status = taken.bytes.getInt(i + WorkRequestLayout.WC_STATUS);
                    move(next + seen + 1, next + seen);
                    return status;
                }
            }
            Thread.onSpinWait();
        } while (System.nanoTime() - start < nanos);
        return NONE;
    }

    /**
     * For one more batch. What is not delivered is no more than all queue pairs can have posted, so that this ends.
     */
    private void makeRoom() {
        if (end + BATCH <= room) {
            return;
        }
        move(next, 0);
        next = 0;
        if (end + BATCH > room) {
            NativeMemory larger = newRoom(2 * room);
            larger.bytes.put(0, taken.bytes, 0, end * WorkRequestLayout.WC_SIZE);
            taken = larger;
            room *= 2;
        }
    }

    /** Moves the completions from there on to the front. */
    private void move(int from, int to) {
        taken.bytes.put(
                to * WorkRequestLayout.WC_SIZE,
                taken.bytes,
                from * WorkRequestLayout.WC_SIZE,
                (end - from) * WorkRequestLayout.WC_SIZE);
        end -= from - to;
    }

    /** Delivers up to that many completions; returns their number. */
    int deliver(int budget) throws IOException {
        int delivered = 0;
        while (delivered < budget && tryFetch()) {
            int i = next++ * WorkRequestLayout.WC_SIZE;
            delivered++;
            long workId = taken.bytes.getLong(i + WorkRequestLayout.WC_ID);
            int status = taken.bytes.getInt(i + WorkRequestLayout.WC_STATUS);
            Target queuePair = queuePairs.get(WorkRequestId.serial(workId));
            if (queuePair == null) {
                leftBehind = Math.max(0, leftBehind - 1);
                continue;
            }
            try {
                deliver(queuePair, workId, status, i);
            } catch (Throwable t) {
                queuePair.failed(t);
            }
        }
        return delivered;
    }

    private void deliver(Target queuePair, long workId, int status, int i) {
        if (status != VerbsConstants.SUCCESS) {
            if (status != VerbsConstants.FLUSHED) {
                failed[VerbsConstants.error(status).ordinal()]++;
            }
            // Verbs fill in nothing but the number and the status then.
            queuePair.completed(workId, status, 0, 0);
            return;
        }
        int length = taken.bytes.getInt(i + WorkRequestLayout.WC_LENGTH);
        if (taken.bytes.getInt(i + WorkRequestLayout.WC_OPCODE)
                == VerbsConstants.WC_RECEIVE_WRITTEN) {
            int immediate = taken.bytes.getInt(i + WorkRequestLayout.WC_IMMEDIATE);
            queuePair.written(workId, length, VerbsConstants.immediate(immediate));
            return;
        }
        boolean isInvalidated =
                (taken.bytes.getInt(i + WorkRequestLayout.WC_FLAGS) & invalidationFlags) != 0;
        int invalidated =
                isInvalidated ? taken.bytes.getInt(i + WorkRequestLayout.WC_INVALIDATED) : 0;
        queuePair.completed(workId, status, length, invalidated);
    }
}
