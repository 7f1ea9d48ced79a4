// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.util.internal.MathUtil;
import org.rpcrdma.channel.memory.RegisteredBufferPool;
import org.rpcrdma.channel.memory.RegisteredByteBuf;
import org.rpcrdma.stream.StreamMessage;
import org.rpcrdma.stream.TargetEntry;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;

/**
 * The work requests of a stream that are under way, and their memory: RDMA Writes, and a signalled message behind them
 * that completes with all before it. What is posted goes to the device with the next {@link #doorbell}.
 */
final class PostedStreamWrites {

    /** Work requests that are kept for messages other than DATA. */
    static final int RESERVE = 16;

    /** Marks the work request ids of messages; their number follows. Receives have ids without any mark. */
    private static final long MESSAGE = 1L << 62;

    private static final long WRITE = 1L << 61;
    private static final long KEEP_ALIVE = 1L << 60;

    /** SGL messages that are under way at most, each with a place for the entry that it tells of. */
    static final int MOST_ENTRIES = 4;

    private final QueuePair queuePair;
    private final StreamMessagePoster wire;
    private final int depth;
    private final int mask;

    /** The messages that are under way, and behind them the entries. */
    private final RegisteredByteBuf slots;

    private final int entries;
    private int nextEntry;

    /** Numbers of the oldest message under way and of the next one. */
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

    /** Work requests under way, and those that the next message is to count. */
    private int posted;

    private int uncounted;
    private boolean rings;

    /** @param depth work requests of the send queue */
    PostedStreamWrites(
            QueuePair queuePair, StreamMessagePoster wire, RegisteredBufferPool pool, int depth) {
        this.queuePair = queuePair;
        this.wire = wire;
        this.depth = depth;
        int ring = MathUtil.findNextPositivePowerOfTwo(depth);
        this.mask = ring - 1;
        this.workOf = new int[ring];
        this.memoryEnd = new int[ring];
        this.held = new ByteBuf[ring];
        this.registrations = new MemoryRegion[ring];
        this.entries = ring * StreamMessage.BYTES;
        this.slots = pool.take(entries + MOST_ENTRIES * TargetEntry.BYTES);
    }

    /** Whether a work request id is one of a receive. */
    static boolean isReceive(long id) {
        return (id & (MESSAGE | WRITE | KEEP_ALIVE)) == 0;
    }

    /** Whether so many work requests may be posted for data. */
    boolean hasRoom(int requests) {
        return posted + requests <= depth - RESERVE;
    }

    // ------------------------------------------------------------------ posting

    /** Writes all that is in a buffer of the pool, which is taken over. */
    void write(long offset, int key, RegisteredByteBuf source) {
        hold(source.buffer(), null);
        write(
                offset,
                key,
                source.address(),
                source.buffer().readableBytes(),
                source.region().localKey());
    }

    /** Writes bytes from where they are; the buffer is retained. */
    void write(
            long offset,
            int key,
            MessageRegistration memory,
            ByteBuf buffer,
            int index,
            int length) {
        MemoryRegion pooled = memory.pooled(buffer, index, length);
        if (pooled != null) {
            write(offset, key, buffer.memoryAddress() + index, length, pooled.localKey());
            hold(buffer.retain(), null);
            return;
        }
        MemoryRegion registration = memory.register(buffer, index, length);
        hold(buffer.retain(), registration);
        write(offset, key, registration.address(), length, registration.localKey());
    }

    /** Writes an entry of the peer's table, which the next message tells of. */
    void writeEntry(
            long entryOffset, int tableKey, long offset, int key, int length, boolean isBigEndian) {
        int index = entries + nextEntry * TargetEntry.BYTES;
        nextEntry = (nextEntry + 1) % MOST_ENTRIES;
        if (isBigEndian) {
            TargetEntry.putBigEndian(slots.buffer(), index, offset, key, length);
        } else {
            TargetEntry.put(slots.buffer(), index, offset, key, length);
        }
        write(
                entryOffset,
                tableKey,
                slots.address() + index,
                TargetEntry.BYTES,
                slots.region().localKey());
    }

    private void write(long offset, int key, long address, int length, int localKey) {
        wire.write(WRITE, offset, key, address, length, localKey);
        posted++;
        uncounted++;
    }

    private void hold(ByteBuf buffer, MemoryRegion registration) {
        int slot = heldTail++ & mask;
        held[slot] = buffer;
        registrations[slot] = registration;
    }

    /** Sends a message behind all that was posted. */
    void send(int message) {
        int slot = tail & mask;
        int index = slot * StreamMessage.BYTES;
        slots.buffer().setIntLE(index, message);
        int added =
                wire.send(
                        MESSAGE | (tail & 0xFFFFFFFFL),
                        message,
                        slots.address() + index,
                        slots.region().localKey());
        posted += added;
        workOf[slot] = uncounted + added;
        memoryEnd[slot] = heldTail;
        uncounted = 0;
        tail++;
        rings = true;
    }

    /** Lets the peer's device show that it is there. Does nothing while work is under way, which shows it too. */
    void keepAlive() {
        if (posted == 0) {
            posted++;
            queuePair.write(KEEP_ALIVE, QueuePair.SIGNALED, 0, 0);
            queuePair.doorbell();
        }
    }

    /** Hands what was posted to the device. */
    void doorbell() {
        if (rings) {
            rings = false;
            queuePair.doorbell();
        }
    }

    // ------------------------------------------------------------------ completing

    /** A work request has succeeded; returns whether it was a message, which {@link #takeMessage} gives then. */
    boolean completesMessage(long id) {
        if ((id & KEEP_ALIVE) != 0) {
            posted--;
        }
        return (id & MESSAGE) != 0;
    }

    /** The oldest message under way. It is over, and so is all that was posted before it. */
    int takeMessage() {
        int slot = head++ & mask;
        posted -= workOf[slot];
        releaseHeld(memoryEnd[slot]);
        return slots.buffer().getIntLE(slot * StreamMessage.BYTES);
    }

    private void releaseHeld(int end) {
        while (heldHead != end) {
            int slot = heldHead++ & mask;
            if (registrations[slot] != null) {
                registrations[slot].deregister();
                registrations[slot] = null;
            }
            held[slot].release();
            held[slot] = null;
        }
    }

    /** Lets all memory go, when the queue pair is gone. */
    void release() {
        releaseHeld(heldTail);
        slots.buffer().release();
    }
}
