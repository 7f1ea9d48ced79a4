// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import org.rpcrdma.verbs.ReceiveMemory;
import org.rpcrdma.verbs.WorkStatus;

/** The posted receives of one stream, oldest first. One without memory has key 0, which no region has. */
public final class ReceiveQueue {

    private static final int NO_KEY = 0;

    private final int depth;
    private final long[] ids;
    private final long[] addresses;
    private final int[] lengths;
    private final int[] keys;
    private int head;
    private int count;

    /** @param depth the most receives posted at a time */
    public ReceiveQueue(int depth) {
        this.depth = depth;
        int slots = Integer.highestOneBit(Math.max(depth, 1) * 2 - 1);
        ids = new long[slots];
        addresses = new long[slots];
        lengths = new int[slots];
        keys = new int[slots];
    }

    /**
     * Posts a receive.
     *
     * @throws IllegalStateException when the queue is full
     */
    public void post(long id, long address, int length, int key) {
        if (count == depth) {
            throw new IllegalStateException(
                    "The receive queue is full with "
                            + depth
                            + " receives; raise QueuePairConfig.receiveDepth");
        }
        int slot = (head + count) & (ids.length - 1);
        ids[slot] = id;
        addresses[slot] = address;
        lengths[slot] = length;
        keys[slot] = key;
        count++;
    }

    boolean isEmpty() {
        return count == 0;
    }

    /** Posts a receive that gets its memory by {@link #memory}. */
    public void post(long id, int length) {
        post(id, 0, length, NO_KEY);
    }

    /** Whether the oldest receive has memory. */
    boolean hasMemory() {
        return keys[head] != NO_KEY;
    }

    /** The number of the oldest receive. */
    long id() {
        return ids[head];
    }

    /** Gives the oldest receive its memory, which may be less than was asked for. */
    void memory(ReceiveMemory memory) {
        addresses[head] = memory.address();
        lengths[head] = Math.min(lengths[head], memory.length());
        keys[head] = memory.region().localKey();
    }

    /** The address of the oldest receive. */
    long address() {
        return addresses[head];
    }

    /** The length of the oldest receive. */
    int length() {
        return lengths[head];
    }

    /** The local key of the oldest receive. */
    int key() {
        return keys[head];
    }

    /** Completes the oldest receive. */
    void complete(Completions completions, WorkStatus status, int length, int invalidatedKey) {
        long id = ids[head];
        head = (head + 1) & (ids.length - 1);
        count--;
        completions.complete(id, status, length, invalidatedKey);
    }

    /**
     * Completes all receives as not used.
     *
     * @param oldest the status of the oldest one
     */
    public void flush(Completions completions, WorkStatus oldest) {
        WorkStatus status = oldest;
        while (count > 0) {
            complete(completions, status, 0, 0);
            status = WorkStatus.FLUSHED;
        }
    }
}
