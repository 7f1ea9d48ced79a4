// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.util.ReferenceCountUtil;
import java.util.Arrays;
import org.rpcrdma.codec.binding.ItemInChunkPredicate;

/** XDR data items of an {@link RpcMessage} in ascending order, with their positions in the whole message. */
final class RpcMessageItems implements ItemInChunkPredicate {

    /** The empty list of a message without items; never added to. */
    static final RpcMessageItems NONE = new RpcMessageItems();

    private int count;
    private int[] positions = new int[1];
    private ByteBuf[] data = new ByteBuf[1];

    /** Adds an item and takes ownership of its memory. Its position must follow those of all other items. */
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

    /** Bytes of all items with their round-up; may exceed {@code Integer.MAX_VALUE}. */
    long bytes() {
        long bytes = 0;
        for (int i = 0; i < count; i++) {
            bytes += roundUp(data[i].readableBytes());
        }
        return bytes;
    }

    /** Offset in the payload at which it continues after an item; beyond its end if the payload is too short. */
    long payloadOffset(int item) {
        long offset = positions[item];
        for (int i = 0; i < item; i++) {
            offset -= roundUp(data[i].readableBytes());
        }
        return offset;
    }

    /** Error in the positions, given that payload; {@code null} if they are valid. */
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

    /** Appends the whole message: payload and items merged, with round-up. */
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

    /** The same without a copy; the caller releases it. */
    ByteBuf view(ByteBuf payload) {
        CompositeByteBuf whole = Unpooled.compositeBuffer(Integer.MAX_VALUE);
        try {
            int start = payload.readerIndex();
            int index = start;
            for (int i = 0; i < count; i++) {
                int at = start + (int) payloadOffset(i);
                whole.addComponent(true, payload.retainedSlice(index, at - index));
                whole.addComponent(true, data[i].retainedSlice());
                int length = data[i].readableBytes();
                whole.addComponent(
                        true, Unpooled.wrappedBuffer(new byte[roundUp(length) - length]));
                index = at;
            }
            whole.addComponent(true, payload.retainedSlice(index, payload.writerIndex() - index));
            return whole;
        } catch (Throwable t) {
            whole.release();
            throw t;
        }
    }

    private static int roundUp(int length) {
        return (length + 3) & ~3;
    }

    // ------------------------------------------------------------------ references

    /** The same items with one more reference each. */
    RpcMessageItems retained() {
        if (count == 0) {
            return NONE;
        }
        RpcMessageItems copy = new RpcMessageItems();
        copy.count = count;
        copy.positions = positions.clone();
        copy.data = data.clone();
        for (int i = 0; i < count; i++) {
            data[i].retain();
        }
        return copy;
    }

    /** Releases all items, even if the user has released one of them too often. */
    void release() {
        for (int i = 0; i < count; i++) {
            ReferenceCountUtil.safeRelease(data[i]);
        }
    }
}
