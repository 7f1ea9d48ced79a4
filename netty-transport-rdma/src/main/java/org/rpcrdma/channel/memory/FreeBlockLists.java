// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.memory;

/**
 * Segregated free lists of blocks by size class. Block sizes are multiples of 256, with eight classes between two
 * powers of two; a bitmap of non-empty lists makes finding, adding and removing a block O(1).
 */
final class FreeBlockLists {

    /** The smallest block, and the unit of all sizes. */
    static final int UNIT = 256;

    private static final int STEPS_LOG2 = 3;
    private static final int STEPS = 1 << STEPS_LOG2;

    /** Up to 2^31 bytes. */
    private static final int LISTS = 24 << STEPS_LOG2;

    private final SlabBlock[] lists = new SlabBlock[LISTS];
    private final long[] occupied = new long[LISTS / Long.SIZE];

    /**
     * Rounds a capacity up to its size class in bytes, at most 1/8 more. Every block in the list of that class fits.
     */
    static int size(int capacity) {
        int units = Math.max(1, (capacity + UNIT - 1) / UNIT);
        if (units < STEPS) {
            return units * UNIT;
        }
        int step = Integer.highestOneBit(units) >> STEPS_LOG2;
        return ((units + step - 1) & -step) * UNIT;
    }

    /** Index of the list of a size class, see {@link #size}. */
    static int list(int size) {
        int units = size / UNIT;
        if (units < STEPS) {
            return units;
        }
        int log2 = 31 - Integer.numberOfLeadingZeros(units);
        return ((log2 - STEPS_LOG2 + 1) << STEPS_LOG2)
                + ((units >> (log2 - STEPS_LOG2)) & (STEPS - 1));
    }

    void add(SlabBlock block) {
        int list = list(block.size);
        SlabBlock first = lists[list];
        block.isFree = true;
        block.previous = null;
        block.next = first;
        if (first == null) {
            occupied[list / Long.SIZE] |= 1L << list;
        } else {
            first.previous = block;
        }
        lists[list] = block;
    }

    void remove(SlabBlock block) {
        block.isFree = false;
        if (block.next != null) {
            block.next.previous = block.previous;
        }
        if (block.previous != null) {
            block.previous.next = block.next;
        } else {
            int list = list(block.size);
            lists[list] = block.next;
            if (block.next == null) {
                occupied[list / Long.SIZE] &= ~(1L << list);
            }
        }
        block.previous = null;
        block.next = null;
    }

    /**
     * Removes a block from the first non-empty list with large enough blocks.
     *
     * @param size as {@link #size(int)} has it
     * @return {@code null} when there is none
     */
    SlabBlock poll(int size) {
        int list = list(size);
        int word = list / Long.SIZE;
        long candidates = occupied[word] & (-1L << list);
        while (candidates == 0) {
            if (++word == occupied.length) {
                return null;
            }
            candidates = occupied[word];
        }
        SlabBlock block = lists[word * Long.SIZE + Long.numberOfTrailingZeros(candidates)];
        remove(block);
        return block;
    }
}
