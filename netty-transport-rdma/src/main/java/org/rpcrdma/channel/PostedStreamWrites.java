// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.util.internal.MathUtil;
import org.rpcrdma.channel.memory.RegisteredBufferPool;
import org.rpcrdma.channel.memory.RegisteredByteBuf;
import org.rpcrdma.stream.ReceiveBufferAddress;
import org.rpcrdma.stream.RsocketMessage;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;

/**
 * Work requests of a stream in flight, and their memory: RDMA Writes, each batch followed by a signalled message whose
 * completion covers all work before it. The next {@link #doorbell} passes posted work to the device.
 */
final class PostedStreamWrites {

    /** Work requests reserved for messages other than DATA. */
    static final int RESERVE = 16;

    /** Marks the work request ids of messages, which include their number. Ids of receives have no mark. */
    private static final long MESSAGE = 1L << 62;

    private static final long WRITE = 1L << 61;
    private static final long KEEP_ALIVE = 1L << 60;

    /** Room of the rings at first, a power of two: an idle stream needs little. */
    private static final int FIRST_RING = 8;

    /** The most SGL messages in flight, each with memory for its table entry. */
    static final int MOST_ENTRIES = 4;

    private final QueuePair queuePair;
    private final SendOrImmediateStreamPoster wire;
    private final int depth;

    /** Memory of messages in flight, a power of two, followed by the table entries. */
    private final RegisteredByteBuf slots;

    private final int slotMask;

    private final int entries;
    private int nextEntry;

    /** Numbers of the oldest message under way and of the next one. */
    private int head;

    private int tail;

    /** For each message: the number of work requests that complete with it, and the end of their memory. */
    private int[] workOf = new int[FIRST_RING];

    private int[] memoryEnd = new int[FIRST_RING];

    /** Ring of the memory of Writes in flight. */
    private ByteBuf[] held = new ByteBuf[FIRST_RING];

    private MemoryRegion[] registrations = new MemoryRegion[FIRST_RING];
    private int heldHead;
    private int heldTail;

    /** Work requests in flight, and those that the next message covers. */
    private int posted;

    private int uncounted;
    private boolean rings;

    /** @param depth work requests of the send queue */
    PostedStreamWrites(
            QueuePair queuePair,
            SendOrImmediateStreamPoster wire,
            RegisteredBufferPool pool,
            int depth) {
        this.queuePair = queuePair;
        this.wire = wire;
        this.depth = depth;
        int ring = MathUtil.findNextPositivePowerOfTwo(depth);
        this.slotMask = ring - 1;
        this.entries = ring * RsocketMessage.BYTES;
        this.slots = pool.take(entries + MOST_ENTRIES * ReceiveBufferAddress.BYTES);
    }

    /** Whether a work request id is one of a receive. */
    static boolean isReceive(long id) {
        return (id & (MESSAGE | WRITE | KEEP_ALIVE)) == 0;
    }

    /** Whether that many work requests may be posted for data. */
    boolean hasRoom(int requests) {
        return posted + requests <= depth - RESERVE;
    }

    // ------------------------------------------------------------------ posting

    /** Writes the content of a pooled buffer, which is taken over; {@link #ensureRoomToHold} has been called. */
    void write(long offset, int key, RegisteredByteBuf source) {
        hold(source.buffer(), null);
        write(
                offset,
                key,
                source.address(),
                source.buffer().readableBytes(),
                source.region().localKey());
    }

    /** Writes bytes without a copy; retains the buffer. */
    void write(
            long offset, int key, ZeroCopyRegistrar memory, ByteBuf buffer, int index, int length) {
        ensureRoomToHold();
        MemoryRegion pooled = memory.pooled(buffer, index, length);
        if (pooled != null) {
            long address = ZeroCopyRegistrar.address(buffer) + index;
            write(offset, key, address, length, pooled.localKey());
            hold(buffer.retain(), null);
            return;
        }
        MemoryRegion registration = memory.register(buffer, index, length);
        hold(buffer.retain(), registration);
        write(offset, key, registration.address(), length, registration.localKey());
    }

    /** Writes an entry of the peer's target SGL, which the next message announces. */
    void writeEntry(
            long entryOffset, int tableKey, long offset, int key, int length, boolean isBigEndian) {
        int index = entries + nextEntry * ReceiveBufferAddress.BYTES;
        nextEntry = (nextEntry + 1) % MOST_ENTRIES;
        if (isBigEndian) {
            ReceiveBufferAddress.putBigEndian(slots.buffer(), index, offset, key, length);
        } else {
            ReceiveBufferAddress.put(slots.buffer(), index, offset, key, length);
        }
        write(
                entryOffset,
                tableKey,
                slots.address() + index,
                ReceiveBufferAddress.BYTES,
                slots.region().localKey());
    }

    private void write(long offset, int key, long address, int length, int localKey) {
        wire.write(WRITE, offset, key, address, length, localKey);
        posted++;
        uncounted++;
    }

    /** Before a buffer is taken over: without heap it stays where it is. */
    void ensureRoomToHold() {
        if (heldTail - heldHead == held.length) {
            growHeld();
        }
    }

    private void hold(ByteBuf buffer, MemoryRegion registration) {
        int slot = heldTail++ & (held.length - 1);
        held[slot] = buffer;
        registrations[slot] = registration;
    }

    private void growHeld() {
        ByteBuf[] buffers = new ByteBuf[2 * held.length];
        MemoryRegion[] regions = new MemoryRegion[buffers.length];
        for (int i = heldHead; i != heldTail; i++) {
            int from = i & (held.length - 1);
            int to = i & (buffers.length - 1);
            buffers[to] = held[from];
            regions[to] = registrations[from];
        }
        held = buffers;
        registrations = regions;
    }

    private void growMessages() {
        int[] work = new int[2 * workOf.length];
        int[] ends = new int[work.length];
        for (int i = head; i != tail; i++) {
            int from = i & (workOf.length - 1);
            int to = i & (work.length - 1);
            work[to] = workOf[from];
            ends[to] = memoryEnd[from];
        }
        workOf = work;
        memoryEnd = ends;
    }

    /** Sends a message after all posted work. */
    void send(int message) {
        if (tail - head == workOf.length) {
            growMessages();
        }
        int slot = tail & (workOf.length - 1);
        int index = (tail & slotMask) * RsocketMessage.BYTES;
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

    /** Makes the peer's device acknowledge, unless work is in flight, which has the same effect. */
    void keepAlive() {
        if (posted == 0) {
            posted++;
            queuePair.write(KEEP_ALIVE, QueuePair.SIGNALED, 0, 0);
            queuePair.doorbell();
        }
    }

    /** Passes posted work to the device. */
    void doorbell() {
        if (rings) {
            rings = false;
            queuePair.doorbell();
        }
    }

    // ------------------------------------------------------------------ completing

    /** Whether a work request is a message: {@link #takeMessage} takes it when it has completed. */
    static boolean isMessage(long id) {
        return (id & MESSAGE) != 0;
    }

    /** A work request other than a message has succeeded. */
    void completed(long id) {
        if ((id & KEEP_ALIVE) != 0) {
            posted--;
        }
    }

    /**
     * Removes and returns the oldest message, which has completed with all work before it.
     *
     * @throws IllegalStateException when there is none: the device has refused a part of the message, and carried out
     *     the rest
     */
    int takeMessage() {
        if (head == tail) {
            throw new IllegalStateException("a message has completed that was refused before");
        }
        int slot = head & (workOf.length - 1);
        int index = (head & slotMask) * RsocketMessage.BYTES;
        head++;
        posted -= workOf[slot];
        releaseHeld(memoryEnd[slot]);
        return slots.buffer().getIntLE(index);
    }

    private void releaseHeld(int end) {
        while (heldHead != end) {
            int slot = heldHead++ & (held.length - 1);
            if (registrations[slot] != null) {
                registrations[slot].deregister();
                registrations[slot] = null;
            }
            held[slot].release();
            held[slot] = null;
        }
    }

    /** Releases all memory, after the queue pair was destroyed. */
    void release() {
        releaseHeld(heldTail);
        slots.buffer().release();
    }
}
