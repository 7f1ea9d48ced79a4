// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.FileRegion;
import io.netty.util.internal.MathUtil;
import java.io.IOException;
import org.rpcrdma.stream.ConnectionData;
import org.rpcrdma.stream.SendCredits;
import org.rpcrdma.stream.StreamMessage;
import org.rpcrdma.stream.StreamProtocolException;
import org.rpcrdma.stream.TargetEntry;
import org.rpcrdma.stream.TargetTable;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;

/**
 * Sends a stream: cuts flushed buffers into RDMA Writes and DATA messages as the peer's buffers and credits allow, and
 * sends all other messages. A message is a signalled Send, behind the Writes that it tells of; what it has sent is done
 * when it completes.
 */
final class StreamOutput implements ChannelOutboundBuffer.MessageProcessor {

    /** Stands for an empty buffer, Netty's way to wait for what was written before it. */
    static final Object NOTHING = new Object();

    /** Work requests that are kept for messages other than DATA. */
    static final int RESERVE = 16;

    /** Marks the work request ids of Sends; their number follows. Receives have ids without any mark. */
    private static final long SEND = 1L << 62;

    private static final long WRITE = 1L << 61;
    private static final long KEEP_ALIVE = 1L << 60;

    /** So many SGL messages are under way at most. */
    private static final int MOST_CONTROLS = 4;

    /** A Write of its own costs more than copying less than this. */
    private static final int LEAST_IN_PLACE = 256;

    private static final int SMALLEST_COPY = 1 << 10;
    private static final int LARGEST_COPY = 1 << 16;

    /** Of each message that is under way: the message, and a place for the entry that it tells of. */
    private static final int SLOT_BYTES = 32;

    private static final int ENTRY = 8;

    private final QueuePair queuePair;
    private final MessageMemory memory;
    private final RegisteredBufferPool pool;
    private final int depth;
    private final int window;
    private final TargetTable table;
    private final RegisteredMemory slots;
    private final int mask;
    private final CopySink sink = new CopySink();

    private SendCredits credits;
    private int tableKey;

    /** Numbers of the oldest Send under way and of the next one. */
    private int head;

    private int tail;

    /** Of each Send: the work requests that are complete with it, and the end of the memory that they use. */
    private final int[] workOf;

    private final int[] memoryEnd;

    /** The memory of Writes under way, a ring. */
    private final ByteBuf[] held;

    private final MemoryRegion[] registrations;
    private int heldHead;
    private int heldTail;

    /** Work requests under way, and those that the next Send is to count. */
    private int posted;

    private int uncounted;

    private int controls;

    /** Whether a DISCONNECT message has gone out: nothing follows it. */
    private boolean over;

    private int bytesUnderWay;
    private boolean rings;

    /** Messages of the outbound buffer that are posted to their end, and how much of the next one is. */
    private int postedMessages;

    private long partlyPosted;

    /** How much of the outbound buffer's first message is done. */
    private long headDone;

    private ChannelOutboundBuffer outbound;
    private int skip;
    private boolean blocked;

    /** What the next DATA message will count. */
    private int open;

    /** The peer's buffer is full: what was written has to be announced. */
    private boolean isBufferFull;

    /** Memory that bytes are copied to, and where they go. */
    private RegisteredMemory copy;

    private long copyOffset;
    private int copyKey;

    /**
     * @param depth work requests of the send queue
     * @param window the most bytes under way
     * @param targetMemory of the target SGL, which the peer writes; it stays the caller's
     */
    StreamOutput(
            QueuePair queuePair,
            MessageMemory memory,
            RegisteredBufferPool pool,
            int depth,
            int window,
            ByteBuf targetMemory) {
        this.queuePair = queuePair;
        this.memory = memory;
        this.pool = pool;
        this.depth = depth;
        this.window = window;
        this.table = new TargetTable(targetMemory);
        int ring = MathUtil.findNextPositivePowerOfTwo(depth);
        this.mask = ring - 1;
        this.workOf = new int[ring];
        this.memoryEnd = new int[ring];
        this.held = new ByteBuf[ring];
        this.registrations = new MemoryRegion[ring];
        this.slots = pool.take(ring * SLOT_BYTES);
    }

    /** Whether a work request id is one of a receive. */
    static boolean isReceive(long id) {
        return (id & (SEND | WRITE | KEEP_ALIVE)) == 0;
    }

    void open(ConnectionData peer) {
        credits = new SendCredits(peer.credits());
        tableKey = peer.tableKey();
        table.open(peer.buffer());
    }

    /** A SGL message came. */
    void update(int limit) throws StreamProtocolException {
        credits.limit(limit);
        table.update();
    }

    /** Whether the last message, that both directions are over, has gone out. */
    boolean isOver() {
        return over;
    }

    /** Whether flushed bytes wait for room, for credits or for work to complete. */
    boolean isBlocked() {
        return blocked;
    }

    // ------------------------------------------------------------------ data

    /**
     * Posts flushed bytes, as far as there is room.
     *
     * @throws IOException when a message cannot be read
     * @throws RuntimeException when the device refuses; what is half posted cannot be taken back
     */
    void post(ChannelOutboundBuffer in) throws Exception {
        outbound = in;
        do {
            skip = postedMessages;
            blocked = false;
            try {
                in.forEachFlushedMessage(this);
            } finally {
                announce();
                doorbell();
            }
            // Whoever hears of an empty buffer may flush more.
        } while (progress(0) && !blocked);
    }

    @Override
    public boolean processMessage(Object message) throws Exception {
        if (skip > 0) {
            skip--;
            return true;
        }
        long size = size(message);
        while (partlyPosted < size) {
            int room = room();
            if (room == 0) {
                blocked = true;
                return false;
            }
            int added = add(message, partlyPosted, (int) Math.min(size - partlyPosted, room));
            partlyPosted += added;
            open += added;
            if (isBufferFull) {
                announce();
            }
        }
        partlyPosted = 0;
        postedMessages++;
        return true;
    }

    private static long size(Object message) {
        if (message instanceof ByteBuf buffer) {
            return buffer.readableBytes();
        }
        return message instanceof FileRegion region ? region.count() : 0;
    }

    /** How many bytes may be added to the DATA message that is being made. */
    private int room() {
        // A copy that waits, the Send and the Write of the next piece.
        if (posted + 3 > depth - RESERVE || (open == 0 && credits.available() == 0)) {
            return 0;
        }
        int most = Math.min(window - bytesUnderWay, StreamMessage.MAX_DATA) - open;
        return (int) Math.min(table.room(), Math.max(0, most));
    }

    /** Adds bytes of a message to what is being sent; returns how many, at least one. */
    private int add(Object message, long index, int length) throws IOException {
        if (message instanceof FileRegion region) {
            return read(region, index, length);
        }
        ByteBuf buffer = (ByteBuf) message;
        int start = buffer.readerIndex() + (int) index;
        if (length >= LEAST_IN_PLACE && memory.isUsable(buffer, start, length)) {
            postCopy();
            openWrite(table.offset(), table.key());
            MemoryRegion registration = memory.gather(queuePair, buffer, start, length);
            hold(buffer.retain(), registration);
            isBufferFull = table.written(length);
            return length;
        }
        ByteBuf target = copyTarget(length);
        int bytes = Math.min(length, target.writableBytes());
        target.writeBytes(buffer, start, bytes);
        copied(bytes);
        return bytes;
    }

    private int read(FileRegion region, long index, int length) throws IOException {
        ByteBuf target = copyTarget(length);
        sink.begin(target, length);
        long bytes = region.transferTo(sink, index);
        if (bytes <= 0) {
            throw new IOException(
                    "FileRegion ended after "
                            + index
                            + " bytes, expected "
                            + region.count()
                            + ": "
                            + region);
        }
        copied((int) bytes);
        return (int) bytes;
    }

    /** A buffer to copy to, with room for at least one byte. */
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
            copy = pool.take(size);
            copyOffset = table.offset();
            copyKey = table.key();
        }
        return copy.buffer();
    }

    private void copied(int bytes) {
        isBufferFull = table.written(bytes);
    }

    /** Posts the Write of what was copied. */
    private void postCopy() {
        if (copy == null) {
            return;
        }
        RegisteredMemory memoryOfCopy = copy;
        copy = null;
        int length = memoryOfCopy.buffer().readableBytes();
        if (length == 0) {
            memoryOfCopy.buffer().release();
            return;
        }
        openWrite(copyOffset, copyKey);
        queuePair.gather(memoryOfCopy.address(), length, memoryOfCopy.region().localKey());
        hold(memoryOfCopy.buffer(), null);
    }

    private void openWrite(long offset, int key) {
        queuePair.write(WRITE, 0, offset, key);
        posted++;
        uncounted++;
    }

    private void hold(ByteBuf buffer, MemoryRegion registration) {
        int slot = heldTail++ & mask;
        held[slot] = buffer;
        registrations[slot] = registration;
    }

    /** Sends the DATA message for what was written since the last one. */
    private void announce() {
        postCopy();
        isBufferFull = false;
        if (open > 0) {
            int bytes = open;
            open = 0;
            bytesUnderWay += bytes;
            credits.sent();
            send(StreamMessage.data(bytes));
        }
    }

    // ------------------------------------------------------------------ messages

    private void send(int message) {
        int slot = tail & mask;
        int index = slot * SLOT_BYTES;
        slots.buffer().setIntLE(index, message);
        queuePair.send(SEND | (tail & 0xFFFFFFFFL), QueuePair.SIGNALED);
        queuePair.gather(slots.address() + index, StreamMessage.BYTES, slots.region().localKey());
        posted++;
        workOf[slot] = uncounted + 1;
        memoryEnd[slot] = heldTail;
        uncounted = 0;
        tail++;
        rings = true;
    }

    /** Hands what was posted to the device. */
    void doorbell() {
        if (rings) {
            rings = false;
            queuePair.doorbell();
        }
    }

    /** Whether a SGL message may be sent now: only few are under way at a time. */
    boolean takesControl() {
        return controls < MOST_CONTROLS;
    }

    /** Tells the peer of a receive buffer; {@link #doorbell()} follows. */
    void publish(long entryOffset, long offset, int key, int length, int limit) {
        int index = (tail & mask) * SLOT_BYTES + ENTRY;
        TargetEntry.put(slots.buffer(), index, offset, key, length);
        openWrite(entryOffset, tableKey);
        queuePair.gather(slots.address() + index, TargetEntry.BYTES, slots.region().localKey());
        grant(limit);
    }

    /** Tells the peer of its credits; {@link #doorbell()} follows. */
    void grant(int limit) {
        controls++;
        send(StreamMessage.sgl(limit));
    }

    /** Says that a direction, or both, are over, behind all that was posted. */
    void end(int message) {
        send(message);
        doorbell();
    }

    /** Lets the peer's device show that it is there. Does nothing while work is under way, which shows it too. */
    void keepAlive() {
        if (posted == 0) {
            posted++;
            queuePair.write(KEEP_ALIVE, QueuePair.SIGNALED, 0, 0);
            queuePair.doorbell();
        }
    }

    // ------------------------------------------------------------------ completing

    /**
     * A work request of this end has succeeded.
     *
     * @param in the outbound buffer, or {@code null} when it is closed: nobody waits for what was sent any more
     */
    void completed(long id, ChannelOutboundBuffer in) {
        if ((id & KEEP_ALIVE) != 0) {
            posted--;
        } else if ((id & SEND) != 0) {
            int slot = head++ & mask;
            int message = slots.buffer().getIntLE(slot * SLOT_BYTES);
            posted -= workOf[slot];
            releaseHeld(memoryEnd[slot]);
            switch (StreamMessage.kind(message)) {
                case DATA -> dataSent(StreamMessage.value(message), in);
                case SGL -> controls--;
                case DISCONNECT -> over = true;
                default -> {
                    // Nobody waits for it.
                }
            }
        }
    }

    private void dataSent(int bytes, ChannelOutboundBuffer in) {
        bytesUnderWay -= bytes;
        if (in != null) {
            outbound = in;
            progress(bytes);
        }
    }

    /**
     * So many bytes of the outbound buffer are done: completes the messages that end with them. Returns whether
     * any did.
     */
    private boolean progress(long bytes) {
        long left = bytes;
        boolean hasCompleted = false;
        for (Object message = outbound.current(); message != null; message = outbound.current()) {
            if (message == Unpooled.EMPTY_BUFFER) {
                // Cancelled before it was flushed; what the user writes empty is NOTHING here.
                outbound.remove();
                continue;
            }
            long rest = size(message) - headDone;
            if (left < rest || postedMessages == 0) {
                headDone += left;
                if (left > 0) {
                    outbound.progress(left);
                }
                return hasCompleted;
            }
            left -= rest;
            headDone = 0;
            postedMessages--;
            if (rest > 0) {
                outbound.progress(rest);
            }
            hasCompleted = true;
            outbound.remove();
        }
        return hasCompleted;
    }

    private void releaseHeld(int end) {
        while (heldHead != end) {
            int slot = heldHead++ & mask;
            if (registrations[slot] != null) {
                registrations[slot].deregister();
                registrations[slot] = null;
            }
            if (held[slot] != null) {
                held[slot].release();
                held[slot] = null;
            }
        }
    }

    /** Lets all memory go, when the queue pair is gone. */
    void release() {
        releaseHeld(heldTail);
        if (copy != null) {
            copy.buffer().release();
            copy = null;
        }
        slots.buffer().release();
    }
}
