// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import org.rpcrdma.verbs.ReceiveMemoryRange;
import org.rpcrdma.verbs.WorkStatus;

/** The posted receives of one stream, oldest first. One without memory has key 0, which no region has. */
public final class ReceiveQueue {

    private static final int NO_KEY = 0;

    private final int depth;
    private final long[] ids;
    private final int[] lengths;

    /** {@code null} until a receive is posted with its memory. */
    private long[] addresses;

    private int[] keys;

    private int head;
    private int count;

    /** The memory of the oldest receive: of one that gets it late it is nowhere else. */
    private long address;

    private int length;
    private int key;

    /** @param depth the most receives posted at a time */
    public ReceiveQueue(int depth) {
        this.depth = depth;
        int slots = Integer.highestOneBit(Math.max(depth, 1) * 2 - 1);
        ids = new long[slots];
        lengths = new int[slots];
    }

    /**
     * Posts a receive.
     *
     * @throws IllegalStateException when the queue is full
     */
    public void post(long id, long ofAddress, int ofLength, int ofKey) {
        if (count == depth) {
            throw new IllegalStateException(
                    "The receive queue is full with "
                            + depth
                            + " receives; raise QueuePairConfig.receiveDepth");
        }
        int slot = (head + count) & (ids.length - 1);
        ids[slot] = id;
        lengths[slot] = ofLength;
        if (keys == null && ofKey != NO_KEY) {
            addresses = new long[ids.length];
            keys = new int[ids.length];
        }
        if (keys != null) {
            addresses[slot] = ofAddress;
            keys[slot] = ofKey;
        }
        if (count++ == 0) {
            nextOldest();
        }
    }

    private void nextOldest() {
        length = lengths[head];
        address = keys == null ? 0 : addresses[head];
        key = keys == null ? NO_KEY : keys[head];
    }

    boolean isEmpty() {
        return count == 0;
    }

    /** Posts a receive that gets its memory by {@link #memory}. */
    public void post(long id, int atMost) {
        post(id, 0, atMost, NO_KEY);
    }

    /** Whether the oldest receive has memory. */
    boolean hasMemory() {
        return key != NO_KEY;
    }

    /** The number of the oldest receive. */
    long id() {
        return ids[head];
    }

    /** Gives the oldest receive its memory, which may be less than was asked for. */
    void memory(ReceiveMemoryRange memory) {
        address = memory.address();
        length = Math.min(length, memory.length());
        key = memory.region().localKey();
    }

    /** The address of the oldest receive. */
    long address() {
        return address;
    }

    /** The length of the oldest receive. */
    int length() {
        return length;
    }

    /** The local key of the oldest receive. */
    int key() {
        return key;
    }

    /** Completes the oldest receive. */
    void complete(
            WorkCompletionHandler completions, WorkStatus status, int bytes, int invalidatedKey) {
        long id = ids[head];
        head = (head + 1) & (ids.length - 1);
        count--;
        nextOldest();
        completions.complete(id, status, bytes, invalidatedKey);
    }

    /**
     * Completes all receives as not used.
     *
     * @param oldest the status of the oldest one
     */
    public void flush(WorkCompletionHandler completions, WorkStatus oldest) {
        WorkStatus status = oldest;
        while (count > 0) {
            complete(completions, status, 0, 0);
            status = WorkStatus.FLUSHED;
        }
    }
}
