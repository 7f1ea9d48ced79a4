// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.Arrays;
import org.rpcrdma.channel.memory.RegisteredBufferPool;
import org.rpcrdma.channel.memory.RegisteredByteBuf;
import org.rpcrdma.stream.StreamProtocolException;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.ReceiveMemoryRange;

/**
 * Receive memory allocated when the peer writes: receive buffers are exposed without memory, so that an idle stream
 * holds none. Data are stored in a sequence of pieces, independent of the exposed buffers. The device admits each byte
 * once and in order. So received bytes cannot change, and their memory is delivered without a copy; and an announcement
 * of unwritten bytes is detected.
 */
final class StreamReceiveMemoryAllocatedAtWrite extends StreamReceiveMemory {

    /** Initial length of a piece, in bytes; doubles while data arrive faster. */
    static final int LEAST_PIECE = 1 << 10;

    static final int MOST_PIECE = 64 << 10;

    /** A segment of at least this many bytes gets its own piece, which is never copied. */
    static final int LARGE = 16 << 10;

    /** Fewer bytes are copied, to memory of the user's allocator. */
    static final int LEAST_DELIVERED = 4 << 10;

    private final RegisteredBufferPool pool;
    private final ChannelMemoryExposures exposures;
    private final AdaptiveStreamReceiveBufferSize sizes;

    /** Keys of the buffers that the peer may write, in order of use. */
    private final int[] keys = new int[PublishedStreamReceiveBuffers.BUFFERS];

    private final int[] lengths = new int[PublishedStreamReceiveBuffers.BUFFERS];
    private int writable;

    /** Ring of pieces: the writer index of each counts announced bytes, the reader index delivered bytes. */
    private RegisteredByteBuf[] pieces = new RegisteredByteBuf[4];

    private int head;
    private int tail;

    /** The first piece not fully announced, or still open for data; {@link #tail} if there is none. */
    private int announced;

    /** Bytes of the last piece handed to the device, while the piece is open. */
    private int given;

    /** Length of the next piece. */
    private int size = LEAST_PIECE;

    /** Bytes given to the device and bytes announced, added up. */
    private long progress;

    private final Place place = new Place();

    /** @param most the largest size of each buffer, in bytes */
    StreamReceiveMemoryAllocatedAtWrite(
            RegisteredBufferPool pool, ChannelMemoryExposures exposures, int most) {
        this.pool = pool;
        this.exposures = exposures;
        this.sizes = new AdaptiveStreamReceiveBufferSize(most);
    }

    // ------------------------------------------------------------------ arriving

    @Override
    int length() {
        return sizes.next();
    }

    @Override
    int expose() {
        int key = exposures.expose(sizes.next());
        keys[writable] = key;
        lengths[writable++] = sizes.next();
        return key;
    }

    @Override
    ReceiveMemoryRange forWrite(int key, int start, int bytes) {
        if (writable == 0 || key != keys[0]) {
            throw new IllegalStateException(
                    "The peer writes into a receive buffer before the one before it is full");
        }
        if (!hasRoom(bytes) && !addPiece(bytes)) {
            return null;
        }
        place.at(last(), given);
        given += bytes;
        progress += bytes;
        if (start + bytes == lengths[0]) {
            writable--;
            keys[0] = keys[1];
            lengths[0] = lengths[1];
        }
        return place;
    }

    private RegisteredByteBuf piece(int number) {
        return pieces[number & (pieces.length - 1)];
    }

    private RegisteredByteBuf last() {
        return piece(tail - 1);
    }

    private boolean hasRoom(int bytes) {
        return bytes < LARGE && announced != tail && last().capacity() - given >= bytes;
    }

    private boolean addPiece(int bytes) {
        if (tail - head == pieces.length) {
            grow(); // before a piece is taken, which would be lost where there is no heap
        }
        // More data arrive at once than a piece holds.
        boolean isLarger = announced != tail && bytes < LARGE;
        int next = isLarger ? Math.min(2 * size, MOST_PIECE) : size;
        RegisteredByteBuf piece = take(bytes < LARGE ? Math.max(next, bytes) : bytes, bytes);
        if (piece == null) {
            return false; // the device asks again
        }
        size = next;
        if (isArrived()) {
            endLast();
            announced = tail;
            removeDelivered();
        } else if (announced != tail) {
            endLast();
        }
        pieces[tail++ & (pieces.length - 1)] = piece;
        given = 0;
        return true;
    }

    /** Allocates a piece of the wanted length, or of the least length, or returns {@code null} for lack of memory. */
    private RegisteredByteBuf take(int wanted, int least) {
        try {
            return pool.take(wanted);
        } catch (IllegalStateException e) {
            return wanted > least ? take(least, least) : null;
        }
    }

    /** Closes the last piece and releases its unused rest. */
    private void endLast() {
        RegisteredByteBuf piece = last();
        if (given <= piece.capacity() / 2) {
            size = Math.max(size / 2, LEAST_PIECE);
        }
        pool.trim(piece, given);
        piece.shrink(given);
    }

    private void grow() {
        RegisteredByteBuf[] larger = Arrays.copyOf(pieces, 2 * pieces.length);
        for (int i = head; i != tail; i++) {
            larger[i & (larger.length - 1)] = pieces[i & (pieces.length - 1)];
        }
        pieces = larger;
    }

    @Override
    void received(int bytes) throws StreamProtocolException {
        sizes.message();
        progress += bytes;
        int left = bytes;
        while (left > 0) {
            if (announced == tail) {
                throw unwritten(bytes, left);
            }
            RegisteredByteBuf piece = piece(announced);
            boolean isLast = announced + 1 == tail;
            int end = isLast ? given : piece.capacity();
            int taken = Math.min(left, end - piece.writerIndex());
            piece.writerIndex(piece.writerIndex() + taken);
            left -= taken;
            if (isLast && left > 0) {
                throw unwritten(bytes, left);
            }
            if (!isLast && piece.writerIndex() == end) {
                announced++;
            }
        }
    }

    @Override
    long unannounced() {
        return announced == tail || isArrived() ? -1 : progress;
    }

    private static StreamProtocolException unwritten(int bytes, int missing) {
        return new StreamProtocolException(
                "The peer announces "
                        + bytes
                        + " bytes of data, and has written "
                        + (bytes - missing)
                        + " of them");
    }

    @Override
    void filled(int length) {
        sizes.filled(length);
    }

    // ------------------------------------------------------------------ delivering

    /** Whether the last piece is open, and all its data are announced. */
    private boolean isArrived() {
        return announced + 1 == tail && last().writerIndex() == given;
    }

    @Override
    boolean isReadable() {
        return head != tail && piece(head).isReadable();
    }

    @Override
    ByteBuf read(int most, ByteBufAllocator allocator) {
        RegisteredByteBuf piece = piece(head);
        int readable = piece.readableBytes();
        boolean isOver = head != announced || isArrived();
        if (isOver && readable >= LEAST_DELIVERED && readable >= piece.capacity() / 4) {
            return RegisteredBufferPool.watched(remove());
        }
        int copied = Math.min(readable, most);
        ByteBuf copy = allocator.ioBuffer(copied);
        copy.writeBytes(piece, copied);
        removeDelivered();
        return copy;
    }

    private void removeDelivered() {
        if (head != announced && !isReadable()) {
            remove().release();
        }
    }

    /** Removes the first piece, which is fully announced. */
    private RegisteredByteBuf remove() {
        if (head == announced) {
            endLast();
            announced = tail;
        }
        int slot = head++ & (pieces.length - 1);
        RegisteredByteBuf piece = pieces[slot];
        pieces[slot] = null;
        return piece;
    }

    @Override
    int discard() {
        int discarded = 0;
        while (isReadable()) {
            RegisteredByteBuf piece = piece(head);
            discarded += piece.readableBytes();
            piece.skipBytes(piece.readableBytes());
            removeDelivered();
        }
        rest();
        return discarded;
    }

    /** Releases memory: a stream without undelivered bytes keeps none, any other little more than its data. */
    @Override
    void rest() {
        if (!isArrived()) {
            return;
        }
        if (!last().isReadable()) {
            remove().release();
        } else if (last().capacity() - given >= RegisteredBufferPool.LEAST_TRIMMED) {
            // A smaller piece holds many short messages.
            endLast();
            announced = tail;
        }
    }

    @Override
    void release() {
        while (head != tail) {
            piece(head++).release();
        }
        announced = tail;
    }

    /** Memory for the bytes that arrive now. */
    private static final class Place implements ReceiveMemoryRange {

        private long address;
        private MemoryRegion region;
        private int length;

        void at(RegisteredByteBuf piece, int index) {
            address = piece.address() + index;
            region = piece.region();
            length = piece.capacity() - index;
        }

        @Override
        public long address() {
            return address;
        }

        @Override
        public MemoryRegion region() {
            return region;
        }

        @Override
        public int length() {
            return length;
        }
    }
}
