// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.wire;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;
import org.rpcrdma.codec.binding.ItemInChunkPredicate;

/**
 * The Read list (RFC 8166, 4.3.1): segments with positions. Segments of one position form one Read chunk, in list
 * order (3.4.5).
 */
public final class ReadList extends SegmentList implements ItemInChunkPredicate {

    /** A marker word, a position word and the segment. */
    public static final int ENTRY_BYTES = 8 + SEGMENT_BYTES;

    private int[] positions = new int[4];

    public ReadList() {}

    /** The position in the unreduced payload stream in bytes, 0 to 2^32 - 1. */
    public long position(int segment) {
        if (segment >= segments()) {
            throw new IndexOutOfBoundsException("segment " + segment + " of " + segments());
        }
        return Integer.toUnsignedLong(positions[segment]);
    }

    /** The bytes of the Read chunk at a position; 0 when there is none. */
    public long chunkLength(long position) {
        long sum = 0;
        for (int i = 0; i < segments(); i++) {
            if (position(i) == position) {
                sum += length(i);
            }
        }
        return sum;
    }

    /** Whether a segment has this position. */
    public boolean hasChunkAt(long position) {
        for (int i = 0; i < segments(); i++) {
            if (position(i) == position) {
                return true;
            }
        }
        return false;
    }

    @Override
    public boolean isReduced(long position, int ordinal, int length) {
        return hasChunkAt(position);
    }

    public void add(long position, int handle, long length, long offset) {
        add(handle, length, offset);
        positions[segments() - 1] = (int) position;
    }

    @Override
    void grow(int capacity) {
        super.grow(capacity);
        positions = Arrays.copyOf(positions, capacity);
    }

    void decodeEntry(ByteBuf in, int index) {
        decodeSegment(in, index + 4);
        positions[segments() - 1] = in.getInt(index);
    }

    public int encodedBytes() {
        return ENTRY_BYTES * segments() + 4;
    }

    void encode(ByteBuf out) {
        for (int i = 0; i < segments(); i++) {
            out.writeInt(1);
            out.writeInt(positions[i]);
            encodeSegment(out, i);
        }
        out.writeInt(0);
    }
}
