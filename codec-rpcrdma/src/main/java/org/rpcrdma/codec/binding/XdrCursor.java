// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

import io.netty.buffer.ByteBuf;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Walks XDR (RFC 4506) inside a payload stream, whole or reduced, and notes the DDP-eligible items on the way. Every
 * step is checked against the end of the stream. One cursor is used for message after message and allocates nothing
 * once it has reached its working size.
 *
 * <p>Not safe for use by several threads.
 */
public final class XdrCursor {

    private static final int WORD = 4;

    /** More than the attributes of a file and the words around them. */
    private static final int WINDOW_BYTES = 128;

    private static final VarHandle INT =
            MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);

    private ByteBuf buffer;
    private ItemInChunkPredicate reduction = ItemInChunkPredicate.NONE;
    private int start;
    private int index;
    private int end;
    private long removed;

    /** Bytes of the buffer, taken at once: it checks each access, however wide. */
    private final byte[] window = new byte[WINDOW_BYTES];

    /** Index in the buffer of the first byte of the window, and the one after its last byte. */
    private int windowStart;

    private int windowEnd;

    private long[] positions = new long[4];
    private int[] indexes = new int[4];
    private int[] lengths = new int[4];
    private boolean[] reduced = new boolean[4];
    private int items;

    /** A cursor for one thread, to be used for one message after another. */
    public XdrCursor() {}

    /**
     * Begins a walk. The buffer is borrowed until {@link #release()}.
     *
     * @param buffer its indices are left alone
     * @param start index of byte 0 of the payload stream, the XID
     * @param index where the walk begins
     * @param end after the last byte of the stream
     * @param reduction tells which eligible items are in chunks, not in the stream
     * @return this cursor
     */
    public XdrCursor wrap(
            ByteBuf buffer, int start, int index, int end, ItemInChunkPredicate reduction) {
        this.buffer = buffer;
        this.reduction = reduction;
        this.start = start;
        this.index = index;
        this.end = end;
        removed = 0;
        items = 0;
        windowEnd = 0;
        return this;
    }

    /** Releases the buffer; keeps the recorded items. */
    public void release() {
        buffer = null;
        windowEnd = 0;
        reduction = ItemInChunkPredicate.NONE;
    }

    /** {@return the position of the next byte in the unreduced stream} */
    public long position() {
        return index - start + removed;
    }

    /** Marks the position for {@link #reset}, valid until an eligible item is passed. */
    int mark() {
        return index;
    }

    void reset(int mark) {
        index = mark;
    }

    /** {@return the bytes that are left in the stream} */
    public int remaining() {
        return end - index;
    }

    /**
     * {@return the next word, unsigned}
     *
     * @throws MalformedMessageException if the stream ends before, or says what the protocol does not allow
     */
    public long uint32() throws MalformedMessageException {
        return Integer.toUnsignedLong(int32());
    }

    /**
     * {@return the next word, signed}
     *
     * @throws MalformedMessageException if the stream ends before, or says what the protocol does not allow
     */
    public int int32() throws MalformedMessageException {
        if (end - index < WORD) {
            throw MalformedMessageException.INSTANCE;
        }
        if (index < windowStart || index > windowEnd - WORD) {
            fillWindow();
        }
        int value = (int) INT.get(window, index - windowStart);
        index += WORD;
        return value;
    }

    private void fillWindow() {
        int bytes = Math.min(WINDOW_BYTES, end - index);
        buffer.getBytes(index, window, 0, bytes);
        windowStart = index;
        windowEnd = index + bytes;
    }

    /**
     * {@return a boolean or an optional-data marker: exactly 0 or 1}
     *
     * @throws MalformedMessageException if the stream ends before, or says what the protocol does not allow
     */
    public boolean bool() throws MalformedMessageException {
        int value = int32();
        if ((value & ~1) != 0) {
            throw MalformedMessageException.INSTANCE;
        }
        return value == 1;
    }

    /**
     * Passes over bytes of a fixed-size item.
     *
     * @param bytes from 0; a multiple of 4, as XDR has items
     * @throws MalformedMessageException if the stream ends before, or says what the protocol does not allow
     */
    public void skip(int bytes) throws MalformedMessageException {
        if (bytes < 0 || bytes > end - index) {
            throw MalformedMessageException.INSTANCE;
        }
        index += bytes;
    }

    /**
     * The count of an array. A count that the rest of the stream cannot hold is malformed, so a loop over the elements
     * ends with the stream whatever a peer says.
     *
     * @param elementBytes the fewest bytes of an element, not counting what may be in a chunk; from 1
     * @return the number of elements, from 0
     * @throws MalformedMessageException if the stream ends before, or says what the protocol does not allow
     */
    public int count(int elementBytes) throws MalformedMessageException {
        long count = uint32();
        if (count > (end - index) / elementBytes) {
            throw MalformedMessageException.INSTANCE;
        }
        return (int) count;
    }

    /**
     * Passes over a counted array of elements of a fixed size; a multiple of 4 bytes each.
     *
     * @param elementBytes a multiple of 4, from 4
     * @throws MalformedMessageException if the stream ends before, or says what the protocol does not allow
     */
    public void array(int elementBytes) throws MalformedMessageException {
        skip(count(elementBytes) * elementBytes);
    }

    /**
     * Passes over optional data of a fixed size.
     *
     * @param bytes of the data when it is there; a multiple of 4
     * @throws MalformedMessageException if the stream ends before, or says what the protocol does not allow
     */
    public void optional(int bytes) throws MalformedMessageException {
        if (bool()) {
            skip(bytes);
        }
    }

    /**
     * Passes over a counted opaque or string and its round-up.
     *
     * @param maximum the longest length that the protocol allows, in bytes
     * @throws MalformedMessageException if the stream ends before, or says what the protocol does not allow
     */
    public void opaque(int maximum) throws MalformedMessageException {
        long length = uint32();
        if (length > maximum) {
            throw MalformedMessageException.INSTANCE;
        }
        skip(roundUp((int) length));
    }

    /**
     * Passes over a counted opaque or string that is DDP-eligible and notes it. When it was reduced, its bytes and its
     * round-up are not in this stream, but count for the positions after it (RFC 8166, 3.4.5).
     *
     * @param maximum the longest length that the protocol allows, in bytes
     * @throws MalformedMessageException if the stream ends before, or says what the protocol does not allow
     */
    public void eligibleOpaque(int maximum) throws MalformedMessageException {
        long length = uint32();
        if (length > maximum) {
            throw MalformedMessageException.INSTANCE;
        }
        long position = position();
        boolean elsewhere = reduction.isReduced(position, items, (int) length);
        note(position, index, (int) length, elsewhere);
        if (elsewhere) {
            removed += roundUp((int) length);
        } else {
            skip(roundUp((int) length));
        }
    }

    private void note(long position, int at, int length, boolean elsewhere) {
        if (items == positions.length) {
            int capacity = items << 1;
            positions = Arrays.copyOf(positions, capacity);
            indexes = Arrays.copyOf(indexes, capacity);
            lengths = Arrays.copyOf(lengths, capacity);
            reduced = Arrays.copyOf(reduced, capacity);
        }
        positions[items] = position;
        indexes[items] = at;
        lengths[items] = length;
        reduced[items] = elsewhere;
        items++;
    }

    /** {@return the number of DDP-eligible items met so far} */
    public int items() {
        return items;
    }

    /**
     * {@return where the item begins in the unreduced stream}
     *
     * @param item its number, from 0 to {@link #items()} - 1, in stream order
     */
    public long itemPosition(int item) {
        return positions[checkItem(item)];
    }

    /**
     * {@return where the item begins, or would begin, in the buffer}
     *
     * @param item its number, from 0 to {@link #items()} - 1, in stream order
     */
    public int itemIndex(int item) {
        return indexes[checkItem(item)];
    }

    /**
     * {@return the item's count word: its length in bytes without round-up}
     *
     * @param item its number, from 0 to {@link #items()} - 1, in stream order
     */
    public int itemLength(int item) {
        return lengths[checkItem(item)];
    }

    /**
     * {@return whether the item is in a chunk and not in the stream}
     *
     * @param item its number, from 0 to {@link #items()} - 1, in stream order
     */
    public boolean isItemReduced(int item) {
        return reduced[checkItem(item)];
    }

    private int checkItem(int item) {
        if (item < 0 || item >= items) {
            throw new IndexOutOfBoundsException("item " + item + " of " + items);
        }
        return item;
    }

    /**
     * A length with its round-up.
     *
     * @param length 0 to 2^31 - 4
     * @return the length with the bytes up to the next multiple of 4
     */
    public static int roundUp(int length) {
        return (length + 3) & ~3;
    }
}
