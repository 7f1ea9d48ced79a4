// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import java.util.Arrays;
import org.rpcrdma.verbs.ReceiveMemoryRange;
import org.rpcrdma.verbs.WorkStatus;

/**
 * The posted receives of one stream, oldest first. One without memory has key 0, which no region has.
 *
 * <p>Receives without memory that follow each other with the same id and length have one entry together: of many equal
 * ones only the number is stored.
 */
public final class ReceiveQueue {

    /** The key of a receive without memory. */
    static final int NO_KEY = 0;

    private static final int FIRST_ENTRIES = 4;

    private final int depth;

    /** Ring of entries, a power of two, which grows as needed. */
    private long[] ids = new long[FIRST_ENTRIES];

    private int[] lengths = new int[FIRST_ENTRIES];
    private int[] counts = new int[FIRST_ENTRIES];

    /** {@code null} until a receive is posted with its memory. */
    private long[] addresses;

    private int[] keys;

    private int head;
    private int entries;

    /** Whether a flush has completed a receive. */
    private boolean isFlushed;

    /** Receives of all entries. */
    int count;

    /** The number of the oldest receive. */
    long id;

    /** The memory of the oldest receive: of one that gets it late it is nowhere else. */
    long address;

    /** The length of the oldest receive. */
    int length;

    /** The local key of the oldest receive. */
    int key;

    /** @param depth the most receives posted at a time */
    public ReceiveQueue(int depth) {
        this.depth = depth;
    }

    /**
     * Posts a receive.
     *
     * @throws IllegalStateException when the queue is full
     */
    public void post(long id, long ofAddress, int ofLength, int ofKey) {
        post(id, ofAddress, ofLength, ofKey, 1);
    }

    private void post(long id, long ofAddress, int ofLength, int ofKey, int number) {
        if (number > depth - count) {
            throw new IllegalStateException(
                    "The receive queue is full with "
                            + depth
                            + " receives; raise QueuePairConfig.receiveDepth");
        }
        if (!isCounted(id, ofLength, ofKey, number)) {
            add(id, ofAddress, ofLength, ofKey, number);
        }
        count += number;
        if (count == number) {
            nextOldest();
        }
    }

    /** Counts receives without memory with the newest entry, if that is of equal ones. */
    private boolean isCounted(long id, int ofLength, int ofKey, int number) {
        if (entries == 0 || ofKey != NO_KEY) {
            return false;
        }
        int newest = slot(entries - 1);
        if (ids[newest] != id
                || lengths[newest] != ofLength
                || (keys != null && keys[newest] != NO_KEY)) {
            return false;
        }
        counts[newest] += number;
        return true;
    }

    private void add(long id, long ofAddress, int ofLength, int ofKey, int number) {
        if (entries == ids.length) {
            grow();
        }
        if (keys == null && ofKey != NO_KEY) {
            long[] newAddresses = new long[ids.length];
            keys = new int[ids.length];
            addresses = newAddresses;
        }
        int slot = slot(entries++);
        ids[slot] = id;
        lengths[slot] = ofLength;
        counts[slot] = number;
        if (keys != null) {
            addresses[slot] = ofAddress;
            keys[slot] = ofKey;
        }
    }

    private int slot(int age) {
        return (head + age) & (ids.length - 1);
    }

    /**
     * Doubles the ring, whose oldest entry comes first then. Makes all arrays before it takes one: they fit each other
     * even where memory ends in between.
     */
    private void grow() {
        long[] newIds = grown(ids);
        int[] newLengths = grown(lengths);
        int[] newCounts = grown(counts);
        if (keys != null) {
            long[] newAddresses = grown(addresses);
            keys = grown(keys);
            addresses = newAddresses;
        }
        ids = newIds;
        lengths = newLengths;
        counts = newCounts;
        head = 0;
    }

    private long[] grown(long[] ring) {
        long[] larger = Arrays.copyOfRange(ring, head, head + 2 * ring.length);
        System.arraycopy(ring, 0, larger, ring.length - head, head);
        return larger;
    }

    private int[] grown(int[] ring) {
        int[] larger = Arrays.copyOfRange(ring, head, head + 2 * ring.length);
        System.arraycopy(ring, 0, larger, ring.length - head, head);
        return larger;
    }

    private void nextOldest() {
        id = ids[head];
        length = lengths[head];
        address = keys == null ? 0 : addresses[head];
        key = keys == null ? NO_KEY : keys[head];
    }

    /** Posts a number of receives that get their memory by {@link #memory}. */
    public void post(long id, int atMost, int number) {
        post(id, 0, atMost, NO_KEY, number);
    }

    /** Gives the oldest receive its memory, which may be less than was asked for. */
    void memory(ReceiveMemoryRange memory) {
        address = memory.address();
        length = Math.min(length, memory.length());
        key = memory.region().localKey();
    }

    /** Completes the oldest receive. */
    void complete(
            WorkCompletionHandler completions, WorkStatus status, int bytes, int invalidatedKey) {
        // First, because it may lack memory: a receive that is counted as complete is never
        // completed again.
        completions.complete(id, status, bytes, invalidatedKey);
        count--;
        if (--counts[head] == 0) {
            head = slot(1);
            entries--;
        }
        nextOldest();
    }

    /**
     * Completes all receives as not used. May be repeated where memory was lacking.
     *
     * @param oldest the status of the first one that a flush completes
     */
    public void flush(WorkCompletionHandler completions, WorkStatus oldest) {
        while (count > 0) {
            complete(completions, isFlushed ? WorkStatus.FLUSHED : oldest, 0, 0);
            isFlushed = true;
        }
    }
}
