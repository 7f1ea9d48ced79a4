// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;

/**
 * Leading part of a range of a message that is contiguous in memory. Handlers compose a message of a header and
 * existing data without copying; so the message may have several components. Reused for each range, on one event loop.
 */
final class LeadingContiguousBufferPiece {

    private ByteBuf memory;
    private int index;
    private int length;

    /**
     * @param buffer borrowed, as {@link #memory} is
     * @param from first index of the range
     * @param bytes its length
     */
    LeadingContiguousBufferPiece of(ByteBuf buffer, int from, int bytes) {
        memory = buffer;
        index = from;
        length = bytes;
        for (CompositeByteBuf whole = composite(buffer);
                whole != null && bytes > 0;
                whole = composite(memory)) {
            int component = whole.toComponentIndex(index);
            memory = whole.internalComponent(component);
            index -= whole.toByteIndex(component);
            length = Math.min(length, memory.capacity() - index);
        }
        return this;
    }

    /** The composite buffer of which this buffer is a view of the whole; {@code null} if there is none. */
    private static CompositeByteBuf composite(ByteBuf buffer) {
        ByteBuf viewed = buffer;
        while (viewed != null && viewed.capacity() == buffer.capacity()) {
            if (viewed instanceof CompositeByteBuf whole) {
                return whole;
            }
            viewed = viewed.unwrap();
        }
        return null;
    }

    ByteBuf memory() {
        return memory;
    }

    /** First index of the piece in {@link #memory}. */
    int index() {
        return index;
    }

    /** Length of the piece, at most that of the range. */
    int length() {
        return length;
    }
}
