// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.verbs.MemoryRegion;

/**
 * Ring of work requests posted to a channel's send queue, in order.
 *
 * <p>Posted work requests use the memory of outbound messages. Netty releases a message when it completes, but also
 * when the output is shut down, while the device may still use the memory: call {@link #hold} before that.
 */
final class PostedSendQueueEntries {

    private static final int FIRST_SLOTS = 16;

    private Object[] messages = {};
    private ByteBuf[] memory = {};
    private MemoryRegion[] registrations = {};
    private int mask = -1;

    /** Numbers of the oldest posted work request and of the next one. */
    long head;

    private long tail;

    /** Work requests before this number hold a reference to their memory. */
    private long held;

    PostedSendQueueEntries() {
        grow();
    }

    /** Doubles the ring, if there is memory for all of it. */
    private void grow() {
        int slots = Math.max(FIRST_SLOTS, 2 * messages.length);
        final Object[] newMessages = new Object[slots];
        final ByteBuf[] newMemory = new ByteBuf[slots];
        final MemoryRegion[] newRegistrations = new MemoryRegion[slots];
        int newMask = slots - 1;
        for (long number = head; number != tail; number++) {
            int from = (int) number & mask;
            int to = (int) number & newMask;
            newMessages[to] = messages[from];
            newMemory[to] = memory[from];
            newRegistrations[to] = registrations[from];
        }
        messages = newMessages;
        memory = newMemory;
        registrations = newRegistrations;
        mask = newMask;
    }

    int size() {
        return (int) (tail - head);
    }

    /** Number of the next work request. Ensures room in the ring, because nothing may fail after posting. */
    long next() {
        if (tail - head == messages.length) {
            grow();
        }
        return tail;
    }

    /**
     * Adds a posted work request, for which {@link #next} has made room.
     *
     * @param message the outbound message
     * @param buffer the memory in use, owned by the message
     * @param registration made for this work request only, or {@code null}
     */
    void add(Object message, ByteBuf buffer, MemoryRegion registration) {
        int slot = (int) tail & mask;
        messages[slot] = message;
        memory[slot] = buffer;
        registrations[slot] = registration;
        tail++;
    }

    /** Adds a message without work, so that it completes in order. */
    void addNothing(Object message) {
        next();
        add(message, null, null);
    }

    boolean headIsNothing() {
        return memory[(int) head & mask] == null;
    }

    /** The outbound message of the oldest. */
    Object headMessage() {
        return messages[(int) head & mask];
    }

    /** Removes the oldest work request, releases its memory and returns its message. */
    Object removeHead() {
        boolean isHeld = head < held;
        int slot = (int) head & mask;
        head++;
        final Object message = messages[slot];
        messages[slot] = null;
        ByteBuf buffer = memory[slot];
        memory[slot] = null;
        MemoryRegion registration = registrations[slot];
        registrations[slot] = null;
        if (registration != null) {
            registration.deregister();
        }
        if (isHeld && buffer != null) {
            buffer.release();
        }
        return message;
    }

    /**
     * Retains the memory of all posted messages until the device has completed them: Netty is about to release the
     * messages.
     */
    void hold() {
        for (held = Math.max(held, head); held != tail; held++) {
            ByteBuf buffer = memory[(int) held & mask];
            if (buffer != null) {
                buffer.retain();
            }
        }
    }

    /** Removes all work requests, after the queue pair was destroyed. */
    void clear() {
        while (size() > 0) {
            removeHead();
        }
    }
}
