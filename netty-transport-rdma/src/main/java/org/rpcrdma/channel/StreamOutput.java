// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.FileRegion;
import java.io.IOException;
import org.rpcrdma.channel.memory.RegisteredBufferPool;
import org.rpcrdma.channel.memory.RegisteredByteBuf;
import org.rpcrdma.stream.PeerReceiveBufferTable;
import org.rpcrdma.stream.RsocketMessage;
import org.rpcrdma.stream.SendCredits;
import org.rpcrdma.stream.StreamPrivateData;
import org.rpcrdma.stream.StreamProtocolException;
import org.rpcrdma.verbs.QueuePair;

/**
 * Output of a stream: splits flushed buffers into RDMA Writes and DATA messages within the peer's buffers and credits,
 * and sends all other messages. Announced bytes are complete when their message completes.
 */
final class StreamOutput implements ChannelOutboundBuffer.MessageProcessor {

    /** Below this length, a copy costs less than a separate Write. */
    private static final int LEAST_IN_PLACE = 256;

    private static final int SMALLEST_COPY = 1 << 10;
    private static final int LARGEST_COPY = 1 << 16;

    /** Result in the place of a number of bytes: no room now. */
    private static final int NO_ROOM = -1;

    private final ZeroCopyRegistrar memory;
    private final RegisteredBufferPool pool;
    private final int window;
    private final PeerReceiveBufferTable table;
    private final PostedStreamWrites work;
    private final BoundedFileRegionCopy sink = new BoundedFileRegionCopy();

    private SendCredits credits;
    private int tableKey;
    private boolean isTableBigEndian;

    /** SGL messages in flight. */
    private int controls;

    /** Whether a DISCONNECT message, the last message, was sent. */
    private boolean over;

    private int bytesUnderWay;

    /** Bytes announced to the peer since the beginning. */
    private long sentBytes;

    private final OutboundBufferProgress posted = new OutboundBufferProgress();

    /** Has the posted data; the channel has none while its close waits for them. */
    private ChannelOutboundBuffer outbound;

    private int skip;
    private boolean blocked;

    /** Whether flushed bytes are being posted. */
    private boolean isPosting;

    /** Message that ends the output once they are; 0 for none. */
    private int endAfterPosting;

    /** Whether flushed bytes wait for memory to copy to. */
    private boolean lacksMemory;

    /** Bytes that the next DATA message announces. */
    private int open;

    /** Whether the peer's buffer is full, so that the written bytes must be announced. */
    private boolean isBufferFull;

    /** Memory that bytes are copied to, and its target at the peer. */
    private RegisteredByteBuf copy;

    private long copyOffset;
    private int copyKey;

    /**
     * @param queuePair for keep-alives; all other work uses the message poster
     * @param depth work requests of the send queue
     * @param window the most bytes in flight
     * @param targetMemory of the target SGL, which the peer writes; owned by the caller
     */
    StreamOutput(
            QueuePair queuePair,
            SendOrImmediateStreamPoster wire,
            ZeroCopyRegistrar memory,
            RegisteredBufferPool pool,
            int depth,
            int window,
            ByteBuf targetMemory) {
        this.memory = memory;
        this.pool = pool;
        this.window = window;
        this.table = new PeerReceiveBufferTable(targetMemory);
        this.work = new PostedStreamWrites(queuePair, wire, pool, depth);
    }

    void open(StreamPrivateData peer) {
        credits = new SendCredits(peer.credits());
        tableKey = peer.tableKey();
        isTableBigEndian = peer.bigEndianTable();
        table.open(peer.buffer());
    }

    /** An SGL message has arrived. */
    void update(int limit) throws StreamProtocolException {
        credits.limit(limit);
        table.update();
    }

    /** Whether the last message, DISCONNECT, was sent. */
    boolean isOver() {
        return over;
    }

    /** Whether flushed bytes wait for room, for credits or for work to complete. */
    boolean isBlocked() {
        return blocked;
    }

    /** Whether flushed bytes wait for memory. */
    boolean lacksMemory() {
        return lacksMemory;
    }

    /** Whether flushed bytes wait for a credit of the peer, or for room in its receive buffer. */
    boolean isWaitingForPeer() {
        return blocked && (credits.available() == 0 || table.room() == 0);
    }

    /** DATA messages that the peer takes now. */
    int credits() {
        return credits.available();
    }

    /** Bytes announced to the peer since the beginning. */
    long sentBytes() {
        return sentBytes;
    }

    // ------------------------------------------------------------------ data

    /**
     * Posts flushed bytes while there is room.
     *
     * @throws IOException when a message cannot be read
     * @throws RuntimeException when the device refuses; a partly posted message cannot be revoked
     */
    void post(ChannelOutboundBuffer in) throws Exception {
        outbound = in;
        isPosting = true;
        try {
            do {
                skip = posted.count();
                blocked = false;
                lacksMemory = false;
                try {
                    in.forEachFlushedMessage(this);
                } finally {
                    announce();
                    doorbell();
                }
                // A listener notified of an empty buffer may flush more.
            } while (posted.addCompletedBytes(in, 0) && !blocked);
        } finally {
            isPosting = false;
            if (endAfterPosting != 0) {
                end(endAfterPosting);
            }
        }
    }

    @Override
    public boolean processMessage(Object message) throws Exception {
        if (skip > 0) {
            skip--;
            return true;
        }
        while (hasMore(message)) {
            int added = add(message);
            if (added == NO_ROOM) {
                blocked = true;
                return false;
            }
            posted.add(added);
            open += added;
            if (isBufferFull) {
                announce();
            }
        }
        posted.end(message);
        return true;
    }

    /** Adds bytes of a message to the current DATA message; returns their number, or {@link #NO_ROOM}. */
    private int add(Object message) throws IOException {
        int room = room();
        if (room == 0) {
            return NO_ROOM;
        }
        return message instanceof FileRegion region
                ? read(region, room)
                : add((ByteBuf) message, room);
    }

    private boolean hasMore(Object message) {
        if (message instanceof ByteBuf buffer) {
            return posted.begun() < buffer.readableBytes();
        }
        return message instanceof FileRegion region && region.transferred() < region.count();
    }

    /** Bytes that may be added to the current DATA message. */
    private int room() {
        // Work requests of the pending copy, of the message and of the next Write.
        if (!work.hasRoom(3) || (open == 0 && credits.available() == 0)) {
            return 0;
        }
        int most = Math.min(window - bytesUnderWay, RsocketMessage.MAX_DATA) - open;
        return (int) Math.min(table.room(), Math.max(0, most));
    }

    /** As {@link #add(Object)} for a buffer. */
    private int add(ByteBuf buffer, int room) {
        int start = buffer.readerIndex() + (int) posted.begun();
        int length = Math.min(buffer.writerIndex() - start, room);
        if (length >= LEAST_IN_PLACE && memory.isUsable(buffer, start, length)) {
            postCopy();
            work.write(table.offset(), table.key(), memory, buffer, start, length);
            isBufferFull = table.addWritten(length);
            return length;
        }
        ByteBuf target = copyTarget(length);
        if (target == null) {
            return NO_ROOM;
        }
        int bytes = Math.min(length, target.writableBytes());
        target.writeBytes(buffer, start, bytes);
        isBufferFull = table.addWritten(bytes);
        return bytes;
    }

    /** As {@link #add(Object)} for a region, which may transfer 0 bytes. */
    private int read(FileRegion region, int room) throws IOException {
        long before = region.transferred();
        ByteBuf target = copyTarget((int) Math.min(region.count() - before, room));
        if (target == null) {
            return NO_ROOM;
        }
        sink.begin(target, room);
        region.transferTo(sink, before);
        int bytes = sink.taken();
        if (bytes == 0 && region.transferred() <= before) {
            throw new IOException(
                    "FileRegion ended after "
                            + before
                            + " bytes, expected "
                            + region.count()
                            + ": "
                            + region);
        }
        isBufferFull = table.addWritten(bytes);
        return bytes;
    }

    /** A buffer to copy to with room for at least one byte, or {@code null} for lack of memory. */
    private ByteBuf copyTarget(int length) {
        if (copy != null && !copy.buffer().isWritable()) {
            postCopy();
        }
        if (copy == null) {
            long wanted = Math.min(room(), Math.max(length, outbound.totalPendingWriteBytes()));
            int size = SMALLEST_COPY;
            while (size < wanted && size < LARGEST_COPY) {
                size <<= 2;
            }
            copy = take(size);
            if (copy == null) {
                return null;
            }
            copyOffset = table.offset();
            copyKey = table.key();
        }
        return copy.buffer();
    }

    private RegisteredByteBuf take(int size) {
        try {
            return pool.take(size);
        } catch (IllegalStateException e) {
            lacksMemory = size == SMALLEST_COPY;
            return lacksMemory ? null : take(SMALLEST_COPY);
        }
    }

    /** Posts the Write of the copied bytes. */
    private void postCopy() {
        if (copy == null) {
            return;
        }
        work.ensureRoomToHold();
        RegisteredByteBuf written = copy;
        copy = null;
        if (written.buffer().isReadable()) {
            work.write(copyOffset, copyKey, written);
        } else {
            written.buffer().release();
        }
    }

    /** Sends the DATA message for the bytes written since the last one. */
    private void announce() {
        postCopy();
        isBufferFull = false;
        if (open > 0) {
            int bytes = open;
            open = 0;
            bytesUnderWay += bytes;
            sentBytes += bytes;
            credits.sent();
            work.send(RsocketMessage.data(bytes));
        }
    }

    // ------------------------------------------------------------------ messages

    /** Passes posted work to the device. */
    void doorbell() {
        work.doorbell();
    }

    /** Whether an SGL message may be sent now: only few may be in flight. */
    boolean takesControl() {
        return controls < PostedStreamWrites.MOST_ENTRIES;
    }

    /** Announces a receive buffer to the peer; the caller then calls {@link #doorbell()}. */
    void publish(long entryOffset, long offset, int key, int length, int limit) {
        work.writeEntry(entryOffset, tableKey, offset, key, length, isTableBigEndian);
        grant(limit);
    }

    /** Grants credits to the peer; the caller then calls {@link #doorbell()}. */
    void grant(int limit) {
        controls++;
        work.send(RsocketMessage.sgl(limit));
    }

    /**
     * Announces the end of one or both directions, after all posted work. A listener that flushes and then ends the
     * output, while {@link #post} runs, has its data posted first.
     */
    void end(int message) {
        if (isPosting) {
            endAfterPosting = message;
            return;
        }
        endAfterPosting = 0;
        stopWaiting();
        work.send(message);
        doorbell();
    }

    /** The output has ended: what was not posted never will be. */
    void stopWaiting() {
        blocked = false;
        lacksMemory = false;
    }

    /** Makes the peer's device acknowledge, unless work is in flight, which has the same effect. */
    void keepAlive() {
        work.keepAlive();
    }

    // ------------------------------------------------------------------ completing

    /** A work request of this end has succeeded. */
    void completed(long id) {
        if (!PostedStreamWrites.isMessage(id)) {
            work.completed(id);
            return;
        }
        int message = work.takeMessage();
        switch (RsocketMessage.kind(message)) {
            case DATA -> dataSent(RsocketMessage.value(message));
            case SGL -> controls--;
            case DISCONNECT -> over = true;
            default -> {
                // No promise is pending.
            }
        }
    }

    private void dataSent(int bytes) {
        bytesUnderWay -= bytes;
        posted.addCompletedBytes(outbound, bytes);
    }

    /** Releases all memory, after the queue pair was destroyed. */
    void release() {
        endAfterPosting = 0;
        work.release();
        if (copy != null) {
            copy.buffer().release();
            copy = null;
        }
    }
}
