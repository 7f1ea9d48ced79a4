// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;

/**
 * The first part of a range of a message that is in one piece of memory. Handlers put a message together from a
 * header and data that they have: these stay where they are. Used again for each range, on one event loop.
 */
final class LeadingContiguousPiece {

    private ByteBuf memory;
    private int index;
    private int length;

    /**
     * @param buffer borrowed, as {@link #memory} is
     * @param from where the range begins
     * @param bytes its length
     */
    LeadingContiguousPiece of(ByteBuf buffer, int from, int bytes) {
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

    /** What the buffer is a view of, when it is a view of all of it; {@code null} when that is not made of several. */
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

    /** Where the piece begins in {@link #memory}. */
    int index() {
        return index;
    }

    /** Not more than the length of the range. */
    int length() {
        return length;
    }
}
