// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.wire;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/**
 * Plain segments (RFC 8166, 3.4.3) in flat arrays: a list is filled again for each message and allocates nothing once
 * it has reached its working size. Handles, lengths and offsets are unsigned.
 *
 * <p>Not safe for use by several threads.
 */
public sealed class SegmentList permits ReadList, WriteList, ReplyChunk {

    /** Handle, length and offset: 4 + 4 + 8 bytes. */
    public static final int SEGMENT_BYTES = 16;

    private static final int INITIAL_CAPACITY = 4;

    private int[] handles = new int[INITIAL_CAPACITY];
    private int[] lengths = new int[INITIAL_CAPACITY];
    private long[] offsets = new long[INITIAL_CAPACITY];
    int count;

    SegmentList() {}

    /** The number of segments. */
    public final int segments() {
        return count;
    }

    /** The handle of a segment, an unsigned 32-bit number. */
    public final int handle(int segment) {
        return handles[check(segment)];
    }

    /** The length of a segment in bytes, 0 to 2^32 - 1. */
    public final long length(int segment) {
        return Integer.toUnsignedLong(lengths[check(segment)]);
    }

    /** The offset of a segment, an unsigned 64-bit number. */
    public final long offset(int segment) {
        return offsets[check(segment)];
    }

    /** The bytes in the segments {@code from} to {@code to - 1}; cannot overflow. */
    public final long sum(int from, int to) {
        long sum = 0;
        for (int i = from; i < to; i++) {
            sum += length(i);
        }
        return sum;
    }

    public final void length(int segment, long length) {
        lengths[check(segment)] = (int) length;
    }

    public void clear() {
        count = 0;
    }

    public final void add(int handle, long length, long offset) {
        if (count == handles.length) {
            grow(count << 1);
        }
        handles[count] = handle;
        lengths[count] = (int) length;
        offsets[count] = offset;
        count++;
    }

    void grow(int capacity) {
        handles = Arrays.copyOf(handles, capacity);
        lengths = Arrays.copyOf(lengths, capacity);
        offsets = Arrays.copyOf(offsets, capacity);
    }

    /** Takes one segment from the wire; the caller has checked that 16 bytes are there. */
    final void decodeSegment(ByteBuf in, int index) {
        add(in.getInt(index), in.getUnsignedInt(index + 4), in.getLong(index + 8));
    }

    final void encodeSegment(ByteBuf out, int segment) {
        check(segment);
        out.writeInt(handles[segment]);
        out.writeInt(lengths[segment]);
        out.writeLong(offsets[segment]);
    }

    final void copySegments(SegmentList from) {
        for (int i = 0; i < from.count; i++) {
            add(from.handles[i], from.length(i), from.offsets[i]);
        }
    }

    /** Whether a segment names memory past the end of the 64-bit address space; up to its last byte is fine. */
    public final boolean anyWraps() {
        for (int i = 0; i < count; i++) {
            long end = offsets[i] + length(i);
            if (end != 0 && Long.compareUnsigned(end, offsets[i]) < 0) {
                return true;
            }
        }
        return false;
    }

    /** Whether handles and offsets are those of {@code offered} and no length is more than was offered there. */
    final boolean isWithin(SegmentList offered) {
        if (count != offered.count) {
            return false;
        }
        for (int i = 0; i < count; i++) {
            if (handles[i] != offered.handles[i]
                    || offsets[i] != offered.offsets[i]
                    || length(i) > offered.length(i)) {
                return false;
            }
        }
        return true;
    }

    /** Whether the segments {@code from} to {@code to - 1} are filled in order, without a gap. */
    final boolean isFilledInOrder(SegmentList offered, int from, int to) {
        boolean ended = false;
        for (int i = from; i < to; i++) {
            if (ended && lengths[i] != 0) {
                return false;
            }
            ended |= lengths[i] != offered.lengths[i];
        }
        return true;
    }

    private int check(int segment) {
        if (segment < 0 || segment >= count) {
            throw new IndexOutOfBoundsException(
                    "segment " + segment + " (expected: 0 to " + (count - 1) + ')');
        }
        return segment;
    }
}
