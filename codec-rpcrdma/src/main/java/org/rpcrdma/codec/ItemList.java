// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.Arrays;

/** Parts of a message that leave the payload stream, by ascending index; each goes with its round-up. */
final class ItemList {

    private long[] positions = new long[2];
    private int[] indexes = new int[2];
    private int[] lengths = new int[2];
    private int[] chunks = new int[2];
    private int count;
    private int removed;

    void clear() {
        count = 0;
        removed = 0;
    }

    void add(long position, int index, int length, int chunk) {
        if (count == lengths.length) {
            positions = Arrays.copyOf(positions, count << 1);
            indexes = Arrays.copyOf(indexes, count << 1);
            lengths = Arrays.copyOf(lengths, count << 1);
            chunks = Arrays.copyOf(chunks, count << 1);
        }
        positions[count] = position;
        indexes[count] = index;
        lengths[count] = length;
        chunks[count] = chunk;
        count++;
        removed += paddedLength(count - 1);
    }

    int count() {
        return count;
    }

    long position(int item) {
        return positions[item];
    }

    int index(int item) {
        return indexes[item];
    }

    int length(int item) {
        return lengths[item];
    }

    int paddedLength(int item) {
        return (lengths[item] + 3) & ~3;
    }

    /** The Write chunk that takes the item. */
    int chunk(int item) {
        return chunks[item];
    }

    /** The bytes by which the payload stream is shorter. */
    int removedBytes() {
        return removed;
    }
}
