// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.verbs.MemoryRegion;

/**
 * What a channel has posted to its send queue, in order.
 *
 * <p>Each posted work request holds a reference to its memory, until it completes or the queue pair is gone: Netty
 * releases outbound messages when a channel closes, but the device may still be using them.
 */
final class SendRing {

    private static final int FIRST_SLOTS = 16;

    private Object[] messages;
    private ByteBuf[] memory;
    private MemoryRegion[] registrations;
    private int mask;

    /** Numbers of the oldest posted work request and of the next one. */
    private long head;

    private long tail;

    SendRing() {
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

    /** The number of the next work request. */
    long next() {
        return tail;
    }

    /**
     * Adds a posted work request.
     *
     * @param message the outbound message it carries out
     * @param buffer the memory it uses; a reference to it is taken over
     * @param registration made for this work request alone, or {@code null}
     */
    void add(Object message, ByteBuf buffer, MemoryRegion registration) {
        if (size() == messages.length) {
            grow();
        }
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
        if (buffer != null) {
            buffer.release();
        }
    }

    /** Forgets all, when the queue pair is gone. */
    void clear() {
        while (!isEmpty()) {
            removeHead();
        }
    }
}
