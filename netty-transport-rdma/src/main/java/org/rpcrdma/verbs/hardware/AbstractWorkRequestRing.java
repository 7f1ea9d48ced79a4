// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.function.ToLongFunction;

/**
 * The work requests of one queue, from opening to completion: a ring of the structures that verbs take, each with room
 * for its ranges and linked to its successor for ever. Handing over cuts the list behind the last one for the time of
 * one call.
 *
 * <p>Positions count work requests: {@code head} is the oldest that is not complete, {@code posted} the end of what the
 * device has, {@code tail} the end of what was opened.
 */
abstract class AbstractWorkRequestRing {

    final NativeMemory memory;

    /** Bytes of one structure. */
    final int size;

    /** Mask from position to slot in the ring. */
    final int mask;

    int head;
    int posted;
    int tail;

    private final long tag;
    private final int depth;
    private final int ranges;
    private final int firstRange;
    private final long[] ids;

    /**
     * @param addresses tells the address of the byte at the position of a direct buffer
     * @param tag what the numbers of these work requests are marked with, see {@link WorkRequestId}
     * @param depth the most work requests at a time
     * @param size bytes of the structure of a work request
     * @param ranges the most ranges of each
     */
    AbstractWorkRequestRing(
            ToLongFunction<ByteBuffer> addresses, long tag, int depth, int size, int ranges) {
        this.tag = tag;
        this.depth = depth;
        this.size = size;
        this.ranges = ranges;
        int slots = slots(depth);
        mask = slots - 1;
        firstRange = slots * size;
        memory =
                new NativeMemory(addresses, slots * (size + ranges * WorkRequestLayout.RANGE_SIZE));
        ids = new long[slots];
        for (int slot = 0; slot < slots; slot++) {
            memory.bytes.putLong(
                    slot * size + WorkRequestLayout.WR_RANGES, memory.address(range(slot, 0)));
            link(slot, next(slot));
        }
    }

    /** How many structures a queue of that depth has. */
    static int slots(int depth) {
        return Math.max(2, Integer.highestOneBit(Math.max(depth, 1) * 2 - 1));
    }

    private int range(int slot, int number) {
        return firstRange + (slot * ranges + number) * WorkRequestLayout.RANGE_SIZE;
    }

    private long next(int slot) {
        return memory.address(((slot + 1) & mask) * size);
    }

    private void link(int slot, long next) {
        memory.bytes.putLong(slot * size + WorkRequestLayout.WR_NEXT, next);
    }

    boolean isFull() {
        return tail - head == depth;
    }

    int depth() {
        return depth;
    }

    /** Takes the next place, which has to be free, and returns its slot. */
    int open(long id) {
        int slot = tail & mask;
        ids[slot] = id;
        memory.bytes.putLong(slot * size + WorkRequestLayout.WR_ID, workId(tail));
        tail++;
        return slot;
    }

    void range(int slot, int number, long address, int length, int key) {
        int i = range(slot, number);
        memory.bytes.putLong(i + WorkRequestLayout.RANGE_ADDRESS, address);
        memory.bytes.putInt(i + WorkRequestLayout.RANGE_LENGTH, length);
        memory.bytes.putInt(i + WorkRequestLayout.RANGE_KEY, key);
    }

    int rangeLength(int slot, int number) {
        return memory.bytes.getInt(range(slot, number) + WorkRequestLayout.RANGE_LENGTH);
    }

    /** Hands everything that is opened to the device, in one list. */
    void post(NativeQueuePair queuePair) throws IOException {
        if (posted == tail) {
            return;
        }
        int first = (posted & mask) * size;
        int last = (tail - 1) & mask;
        link(last, 0);
        posted = tail;
        try {
            post(queuePair, first);
        } finally {
            link(last, next(last));
        }
    }

    /** Gives the list that begins at this index of the memory to the device. */
    abstract void post(NativeQueuePair queuePair, int first) throws IOException;

    static void checkLength(int length) {
        if (length < 0) {
            throw new IllegalArgumentException(
                    "Length is " + length + ", expected 0 or more bytes");
        }
    }

    final long workId(int position) {
        return WorkRequestId.of(tag, position);
    }

    /** How many there are. */
    int count() {
        return tail - head;
    }

    /** The number that a work request was given by its owner. */
    long id(int position) {
        return ids[position & mask];
    }

    /** The position of the oldest one that is not complete. */
    int head() {
        return head;
    }

    /** How many the device has. */
    int inDevice() {
        return posted - head;
    }

    /** Whether the device has nothing left to do. */
    boolean isIdle() {
        return head == posted;
    }

    /** Whether there is nothing, not even opened. */
    boolean isEmpty() {
        return head == tail;
    }
}
