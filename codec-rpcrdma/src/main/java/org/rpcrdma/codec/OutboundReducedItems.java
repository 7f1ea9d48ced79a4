// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/**
 * DDP-eligible data items that are reduced out of an outbound payload stream, by ascending index; each goes with its
 * round-up. An item may also lie apart from the beginning: then the stream is without it, and its memory belongs to
 * the user.
 */
final class OutboundReducedItems {

    private long[] positions = new long[2];
    private int[] indexes = new int[2];
    private int[] lengths = new int[2];
    private int[] chunks = new int[2];
    private ByteBuf[] apart = new ByteBuf[2];
    private int count;
    private int removed;

    void clear() {
        if (count > 0) {
            Arrays.fill(apart, 0, count, null);
        }
        count = 0;
        removed = 0;
    }

    void add(long position, int index, int length, int chunk) {
        put(position, index, length, chunk, null);
        removed += bytesInMessage(count - 1);
    }

    /**
     * Adds a part that the message is without.
     *
     * @param index where the message goes on after it
     * @param memory its readable bytes are the part; borrowed
     */
    void addApart(long position, int index, int chunk, ByteBuf memory) {
        put(position, index, memory.readableBytes(), chunk, memory);
    }

    private void put(long position, int index, int length, int chunk, ByteBuf memory) {
        if (count == lengths.length) {
            positions = Arrays.copyOf(positions, count << 1);
            indexes = Arrays.copyOf(indexes, count << 1);
            lengths = Arrays.copyOf(lengths, count << 1);
            chunks = Arrays.copyOf(chunks, count << 1);
            apart = Arrays.copyOf(apart, count << 1);
        }
        positions[count] = position;
        indexes[count] = index;
        lengths[count] = length;
        chunks[count] = chunk;
        apart[count] = memory;
        count++;
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

    /** The bytes of the message that it stands for, round-up included. */
    int bytesInMessage(int item) {
        return apart[item] == null ? (lengths[item] + 3) & ~3 : 0;
    }

    /** The memory of a part that the message is without; {@code null} when it is in the message. */
    ByteBuf apart(int item) {
        return apart[item];
    }

    /** Whether the message is without its parts; those of a call all are, or none is. */
    boolean areApart() {
        return count > 0 && apart[0] != null;
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
