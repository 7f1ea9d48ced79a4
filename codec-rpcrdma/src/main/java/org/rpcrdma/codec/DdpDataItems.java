// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.util.ReferenceCountUtil;
import java.util.Arrays;
import org.rpcrdma.codec.binding.Reduction;

/** The items of an {@link RpcMessage} in their order, and where they belong in the whole message. */
final class DdpDataItems implements Reduction {

    /** Of a message without items; nothing is added to it. */
    static final DdpDataItems NONE = new DdpDataItems();

    private int count;
    private int[] positions = new int[1];
    private ByteBuf[] data = new ByteBuf[1];

    /** Takes an item over, which has to be behind the others. */
    void add(int position, ByteBuf item) {
        int last = count - 1;
        if (last >= 0 && position - positions[last] < roundUp(data[last].readableBytes())) {
            throw new IllegalArgumentException(
                    "position: "
                            + position
                            + " (expected: after the item at "
                            + positions[last]
                            + ')');
        }
        if (count == data.length) {
            positions = Arrays.copyOf(positions, count << 1);
            data = Arrays.copyOf(data, count << 1);
        }
        positions[count] = position;
        data[count++] = item;
    }

    int count() {
        return count;
    }

    int position(int item) {
        return positions[item];
    }

    ByteBuf data(int item) {
        return data[item];
    }

    /** The memory of the item at that position; {@code null} when it is in the payload. */
    ByteBuf at(long position) {
        for (int i = 0; i < count; i++) {
            if (positions[i] == position) {
                return data[i];
            }
        }
        return null;
    }

    @Override
    public boolean isReduced(long position, int ordinal, int length) {
        return at(position) != null;
    }

    // ------------------------------------------------------------------ the whole message

    /** What the items add to the payload; more than an {@code int} holds is possible. */
    long bytes() {
        long bytes = 0;
        for (int i = 0; i < count; i++) {
            bytes += roundUp(data[i].readableBytes());
        }
        return bytes;
    }

    /** Where the payload goes on after an item, counted from its first byte; beyond its end when that is too short. */
    long payloadOffset(int item) {
        long offset = positions[item];
        for (int i = 0; i < item; i++) {
            offset -= roundUp(data[i].readableBytes());
        }
        return offset;
    }

    /** What is wrong with the positions in the message with that payload; {@code null} when nothing is. */
    String problem(ByteBuf payload) {
        for (int i = 0; i < count; i++) {
            if (payloadOffset(i) > payload.readableBytes()) {
                return "item at position "
                        + positions[i]
                        + " of a payload of "
                        + payload.readableBytes()
                        + " bytes (expected: a position inside the whole message)";
            }
        }
        return null;
    }

    /** Appends the whole message: the items in their places, with their round-up. */
    void writeWhole(ByteBuf payload, ByteBuf out) {
        int start = payload.readerIndex();
        int index = start;
        for (int i = 0; i < count; i++) {
            int at = start + (int) payloadOffset(i);
            out.writeBytes(payload, index, at - index);
            int length = data[i].readableBytes();
            out.writeBytes(data[i], data[i].readerIndex(), length);
            out.writeZero(roundUp(length) - length);
            index = at;
        }
        out.writeBytes(payload, index, payload.writerIndex() - index);
    }

    private static int roundUp(int length) {
        return (length + 3) & ~3;
    }

    // ------------------------------------------------------------------ references

    /** The same items with one more reference each. */
    DdpDataItems retained() {
        if (count == 0) {
            return NONE;
        }
        DdpDataItems copy = new DdpDataItems();
        copy.count = count;
        copy.positions = positions.clone();
        copy.data = data.clone();
        for (int i = 0; i < count; i++) {
            data[i].retain();
        }
        return copy;
    }

    /** Releases all items, also behind one that its user has released once too often. */
    void release() {
        for (int i = 0; i < count; i++) {
            ReferenceCountUtil.safeRelease(data[i]);
        }
    }
}
