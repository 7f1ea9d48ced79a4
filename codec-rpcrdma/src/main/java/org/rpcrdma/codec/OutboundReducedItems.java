// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/**
 * DDP-eligible data items reduced from an outbound payload stream, with their round-up, by ascending index. An item
 * that is apart was never in the stream: the user owns its memory.
 */
final class OutboundReducedItems {

    private long[] positions = new long[2];
    private int[] indexes = new int[2];
    private int[] lengths = new int[2];
    private int[] chunks = new int[2];
    private ByteBuf[] apart = new ByteBuf[2];
    int count;

    /** Bytes removed from the payload stream. */
    int removed;

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
     * Adds an item that is apart from the message.
     *
     * @param index at which the message continues after the item
     * @param memory its readable bytes are the item; borrowed
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

    long position(int item) {
        return positions[item];
    }

    int index(int item) {
        return indexes[item];
    }

    int length(int item) {
        return lengths[item];
    }

    /** Bytes of the item in the message, with round-up; 0 if apart. */
    int bytesInMessage(int item) {
        return apart[item] == null ? (lengths[item] + 3) & ~3 : 0;
    }

    /** Memory of an item that is apart; {@code null} if the item is in the message. */
    ByteBuf apart(int item) {
        return apart[item];
    }

    /** Whether the items are apart; in a call either all are or none. */
    boolean areApart() {
        return count > 0 && apart[0] != null;
    }

    /** The Write chunk of the item. */
    int chunk(int item) {
        return chunks[item];
    }
}
