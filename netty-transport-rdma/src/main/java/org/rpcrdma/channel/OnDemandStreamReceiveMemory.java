// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.Arrays;
import org.rpcrdma.channel.memory.RegisteredBufferPool;
import org.rpcrdma.channel.memory.RegisteredByteBuf;
import org.rpcrdma.stream.StreamProtocolException;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.ReceiveMemory;

/**
 * Memory that is taken when the peer writes: receive buffers are exposed without any, so that an idle stream has none.
 * What arrives lies in pieces, one behind the other, whatever the buffers are that the peer knows. The device lets each
 * byte be written once and in order. So bytes that have arrived cannot change any more, and their memory itself may be
 * delivered; and what a peer announces is known to be written.
 */
final class OnDemandStreamReceiveMemory extends StreamReceiveMemory {

    /** Of a piece, in bytes. It grows while more arrives at once. */
    static final int LEAST_PIECE = 1 << 10;

    static final int MOST_PIECE = 64 << 10;

    /** So many bytes in one segment have a piece of their own, which is never copied. */
    static final int LARGE = 16 << 10;

    /** Less than this is copied, to memory of the user's allocator. */
    static final int LEAST_DELIVERED = 4 << 10;

    private final RegisteredBufferPool pool;
    private final PeerAccessibleMemory exposures;
    private final AdaptiveStreamBufferSize sizes;

    /** The buffers that the peer may write into: the first one to its end, then the other. */
    private final int[] keys = new int[StreamInput.BUFFERS];

    private final int[] lengths = new int[StreamInput.BUFFERS];
    private int writable;

    /** A ring: the writer index of a piece says what was announced, the reader index what was delivered. */
    private RegisteredByteBuf[] pieces = new RegisteredByteBuf[4];

    private int head;
    private int tail;

    /** The first piece of which not all was announced, or that takes more; {@link #tail} if there is none. */
    private int announced;

    /** Up to here the device has got the last piece, while that takes more. */
    private int given;

    /** How long the next piece is to be. */
    private int size = LEAST_PIECE;

    private final Place place = new Place();

    /** @param most of each buffer, in bytes */
    OnDemandStreamReceiveMemory(
            RegisteredBufferPool pool, PeerAccessibleMemory exposures, int most) {
        this.pool = pool;
        this.exposures = exposures;
        this.sizes = new AdaptiveStreamBufferSize(most);
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
    ReceiveMemory forWrite(int key, int start, int bytes) {
        if (writable == 0 || key != keys[0]) {
            throw new IllegalStateException(
                    "The peer writes into a receive buffer before the one before it is full");
        }
        if (!hasRoom(bytes) && !addPiece(bytes)) {
            return null;
        }
        place.at(last(), given);
        given += bytes;
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
        if (announced != tail && bytes < LARGE) {
            // More arrives at once than a piece takes.
            size = Math.min(2 * size, MOST_PIECE);
        }
        RegisteredByteBuf piece = take(bytes < LARGE ? Math.max(size, bytes) : bytes, bytes);
        if (piece == null) {
            return false;
        }
        if (isArrived()) {
            endLast();
            announced = tail;
            removeDelivered();
        } else if (announced != tail) {
            endLast();
        }
        if (tail - head == pieces.length) {
            grow();
        }
        pieces[tail++ & (pieces.length - 1)] = piece;
        given = 0;
        return true;
    }

    /** A piece of the wanted length, or of the least that will do, or {@code null} when there is no memory. */
    private RegisteredByteBuf take(int wanted, int least) {
        try {
            return pool.take(wanted);
        } catch (IllegalStateException e) {
            return wanted > least ? take(least, least) : null;
        }
    }

    /** The last piece takes no more: the rest of it goes back. */
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

    /** Whether there is a piece that takes more, and all that came into it was announced. */
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

    /** Takes the first piece away, all of which was announced. */
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

    /** A stream that has delivered all has no memory, and another one little more than it holds. */
    @Override
    void rest() {
        if (!isArrived()) {
            return;
        }
        if (!last().isReadable()) {
            remove().release();
        } else if (last().capacity() - given >= RegisteredBufferPool.LEAST_TRIMMED) {
            // Of less than that a piece takes many short messages.
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

    /** Where bytes go that arrive now. */
    private static final class Place implements ReceiveMemory {

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
