// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.util.ReferenceCountUtil;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;

/**
 * Memory of one end of a simulated message channel, which the peer reads, writes and invalidates. Each RDMA Write
 * leaves its number in a slot, so that a message shows whether those in front of it have arrived.
 */
final class MessageEndMemory {

    private static final int SLOTS = 64;
    private static final int READABLE = 4096;
    private static final int INVALIDATABLE = 64;
    private static final int MOST_OFFERED = 4;

    /** An RDMA Write of the peer, in front of the message with a number. */
    static final class Write {

        final long number;
        private final int message;
        boolean isCancelled;

        private Write(long number, int message) {
            this.number = number;
            this.message = message;
        }

        private int at() {
            return (int) (number % SLOTS) * Long.BYTES;
        }
    }

    private final RdmaChannel channel;
    private final ByteBuf source;
    private final ByteBuf target;
    private final int sourceHandle;
    private final int targetHandle;
    private final long sourceOffset;
    private final long targetOffset;

    /** Those in front of no message that has arrived. */
    private final Deque<Write> writes = new ArrayDeque<>();

    private long nextWrite = 1;

    /** By their handles, which the peer may invalidate. */
    private final Map<Integer, ByteBuf> offered = new HashMap<>();

    /** Handles that no message invalidates yet. */
    private final Deque<Integer> valid = new ArrayDeque<>();

    /** By the number of the peer's message that invalidates it. */
    private final Map<Integer, Integer> invalidations = new HashMap<>();

    private MessageEndMemory(RdmaChannel channel, ByteBuf source, ByteBuf target) {
        this.channel = channel;
        this.source = source;
        this.target = target;
        sourceHandle = channel.expose(source, 0, READABLE, RemoteAccess.READ);
        sourceOffset = channel.exposedOffset(sourceHandle);
        targetHandle = channel.expose(target, 0, SLOTS * Long.BYTES, RemoteAccess.WRITE);
        targetOffset = channel.exposedOffset(targetHandle);
    }

    /** {@return memory of a channel that is active} {@code null} when its host has none. */
    static MessageEndMemory of(RdmaChannel channel) {
        ByteBuf source = null;
        ByteBuf target = null;
        try {
            source = channel.registeredBuffer(READABLE);
            while (source.isWritable()) {
                source.writeByte(at(source.writerIndex()));
            }
            target = channel.registeredBuffer(SLOTS * Long.BYTES);
            target.writeZero(SLOTS * Long.BYTES);
            return new MessageEndMemory(channel, source, target);
        } catch (IllegalStateException | OutOfMemoryError e) {
            ReferenceCountUtil.release(source);
            ReferenceCountUtil.release(target);
            return null;
        }
    }

    private static byte at(int position) {
        return (byte) (position * 13 + 5);
    }

    /** Offers one more handle to be invalidated. */
    void offer() {
        if (channel.isActive() && offered.size() < MOST_OFFERED) {
            ByteBuf buffer = null;
            try {
                buffer = channel.registeredBuffer(INVALIDATABLE);
                int handle = channel.expose(buffer, 0, INVALIDATABLE, RemoteAccess.WRITE);
                offered.put(handle, buffer);
                valid.add(handle);
            } catch (IllegalStateException | OutOfMemoryError e) {
                ReferenceCountUtil.release(buffer); // the host fails
            }
        }
    }

    // ------------------------------------------------------------------ for the peer

    /** {@return whether there is a handle to be invalidated} */
    boolean offers() {
        return !valid.isEmpty();
    }

    /** {@return a message of the peer with its number that invalidates one of these handles} */
    RdmaSendWithInvalidate invalidating(ByteBuf message, int number) {
        int handle = valid.remove();
        invalidations.put(number, handle);
        return new RdmaSendWithInvalidate(message, handle);
    }

    /** The message with that number was cancelled. */
    void keepValid(int number) {
        Integer handle = invalidations.remove(number);
        if (handle != null) {
            valid.add(handle);
        }
    }

    /** {@return the next Write, in front of the message with that number} */
    Write nextWrite(int message) {
        Write write = new Write(nextWrite++, message);
        writes.add(write);
        return write;
    }

    /** {@return the work of a Write, with an empty buffer filled} */
    RdmaWrite work(Write write, ByteBuf empty) {
        ByteBuf content = empty.writeLong(write.number);
        return new RdmaWrite(content, targetHandle, targetOffset + write.at());
    }

    /** {@return a Read into a buffer, which is full, from somewhere} */
    RdmaRead read(ByteBuf sink, int position) {
        return new RdmaRead(sink, sourceHandle, sourceOffset + position);
    }

    /** {@return a position from which so many bytes can be read} */
    static int position(Random random, int length) {
        return random.nextInt(READABLE - length + 1);
    }

    /** {@return whether the bytes are those that a Read has to bring} */
    static boolean isRead(ByteBuf sink, int position) {
        for (int i = 0; i < sink.readableBytes(); i++) {
            if (sink.getByte(i) != at(position + i)) {
                return false;
            }
        }
        return true;
    }

    // ------------------------------------------------------------------ what has become of it

    /** {@return what is wrong when the message with that number has arrived} {@code null} for nothing. */
    String arrived(int message) {
        String wrong = null;
        while (!writes.isEmpty() && writes.peek().message <= message) {
            Write write = writes.poll();
            if (!write.isCancelled && !isThere(write)) {
                wrong = "reads message " + message + " without Write " + write.number;
            }
        }
        Integer handle = invalidations.remove(message);
        if (handle != null) {
            if (channel.isExposed(handle)) {
                wrong = "reads message " + message + ", which has invalidated nothing";
            }
            offered.remove(handle).release();
        }
        return wrong;
    }

    /** A later one may have taken the slot. */
    private boolean isThere(Write write) {
        long number = target.getLong(write.at());
        return number >= write.number
                && number < nextWrite
                && number % SLOTS == write.number % SLOTS;
    }

    /** {@return whether all Writes have arrived} */
    boolean hasAll() {
        return writes.stream().allMatch(write -> write.isCancelled || isThere(write));
    }

    /** The channel is closed. */
    void release() {
        source.release();
        target.release();
        offered.values().forEach(ByteBuf::release);
        offered.clear();
        valid.clear();
    }
}
