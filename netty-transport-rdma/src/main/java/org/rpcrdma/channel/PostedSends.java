// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.verbs.MemoryRegion;

/**
 * Ring of the work requests that a channel has posted to its send queue, in order.
 *
 * <p>Posted work requests use the memory of outbound messages, which Netty releases when they complete, and when the
 * output ends before they do: then the device may still be using it, so {@link #hold} comes first.
 */
final class PostedSends {

    private static final int FIRST_SLOTS = 16;

    private Object[] messages;
    private ByteBuf[] memory;
    private MemoryRegion[] registrations;
    private int mask;

    /** Numbers of the oldest posted work request and of the next one. */
    private long head;

    private long tail;

    /** There is a reference to the memory of those before this number. */
    private long held;

    PostedSends() {
        allocate(FIRST_SLOTS);
    }

    private void allocate(int slots) {
        messages = new Object[slots];
        memory = new ByteBuf[slots];
        registrations = new MemoryRegion[slots];
        mask = slots - 1;
    }

    /** Doubles the ring. */
    private void grow() {
        final Object[] oldMessages = messages;
        final ByteBuf[] oldMemory = memory;
        final MemoryRegion[] oldRegistrations = registrations;
        int oldMask = mask;
        allocate(2 * oldMessages.length);
        for (long number = head; number != tail; number++) {
            int from = (int) number & oldMask;
            int to = (int) number & mask;
            messages[to] = oldMessages[from];
            memory[to] = oldMemory[from];
            registrations[to] = oldRegistrations[from];
        }
    }

    boolean isEmpty() {
        return head == tail;
    }

    int size() {
        return (int) (tail - head);
    }

    /** The number of the next work request, for which there is room then: once it is posted nothing may fail. */
    long next() {
        makeRoom();
        return tail;
    }

    private void makeRoom() {
        if (size() == messages.length) {
            grow();
        }
    }

    /**
     * Adds a posted work request.
     *
     * @param message the outbound message it carries out
     * @param buffer the memory it uses, which is the message's
     * @param registration made for this work request alone, or {@code null}
     */
    void add(Object message, ByteBuf buffer, MemoryRegion registration) {
        makeRoom();
        int slot = (int) tail & mask;
        messages[slot] = message;
        memory[slot] = buffer;
        registrations[slot] = registration;
        tail++;
    }

    /** Adds a message that needs no work, so that it completes in order. */
    void addNothing(Object message) {
        add(message, null, null);
    }

    boolean headIsNothing() {
        return memory[(int) head & mask] == null;
    }

    /** The number of the oldest. */
    long head() {
        return head;
    }

    /** The outbound message of the oldest. */
    Object headMessage() {
        return messages[(int) head & mask];
    }

    /** Forgets the oldest and lets its memory go. */
    void removeHead() {
        boolean isHeld = head < held;
        int slot = (int) head & mask;
        head++;
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
    }

    /** Somebody else is about to release the messages: their memory stays until the device is done with it. */
    void hold() {
        for (held = Math.max(held, head); held != tail; held++) {
            ByteBuf buffer = memory[(int) held & mask];
            if (buffer != null) {
                buffer.retain();
            }
        }
    }

    /** Forgets all, when the queue pair is gone. */
    void clear() {
        while (!isEmpty()) {
            removeHead();
        }
    }
}
