// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.shared;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * The reading end of a ring of bytes between two threads, maybe of two processes. For one thread. What the writer says
 * is checked before it is used; what it has written is copied out before anybody looks at it.
 */
public final class RingReader {

    private ByteBuffer memory;
    private final int control;
    private final int data;
    private final int capacity;

    private long head;
    private long published;
    private long tail;
    private long start;

    /**
     * @param memory the mapped memory
     * @param control where the ring's control bytes begin
     * @param data where its bytes are
     * @param capacity how many there are, a power of two
     */
    RingReader(ByteBuffer memory, int control, int data, int capacity) {
        this.memory = memory;
        this.control = control;
        this.data = data;
        this.capacity = capacity;
    }

    /**
     * Reads as much as there is, or fits.
     *
     * @return the bytes read; the positions of the targets are behind them
     * @throws IOException when the writer claims what cannot be
     */
    public long read(ByteBuffer[] targets, int offset, int length) throws IOException {
        refreshTail();
        long before = head;
        for (int i = offset; head != tail && i < offset + length; i++) {
            get(targets[i]);
        }
        return publish(before);
    }

    /** As {@link #read(ByteBuffer[], int, int)}, into one target. */
    public int read(ByteBuffer target) throws IOException {
        refreshTail();
        long before = head;
        get(target);
        return publish(before);
    }

    private void refreshTail() throws IOException {
        long now = (long) RingLayout.LONGS.getAcquire(memory, control + RingLayout.TAIL);
        if (now == tail) {
            return;
        }
        if (now - tail < 0 || now - head > capacity) {
            throw new IOException(
                    "The peer broke the rules of shared memory: it has written up to "
                            + now
                            + ", expected "
                            + tail
                            + " to "
                            + (head + capacity));
        }
        long began = (long) RingLayout.LONGS.getOpaque(memory, control + RingLayout.START);
        if (began != start) {
            // Only an empty ring begins anew: at what was read last.
            if (began != head) {
                throw new IOException(
                        "The peer broke the rules of shared memory: the ring begins at "
                                + began
                                + ", expected "
                                + start
                                + " or "
                                + head);
            }
            start = began;
        }
        tail = now;
    }

    private void get(ByteBuffer target) {
        int bytes = (int) Math.min(tail - head, target.remaining());
        int to = target.position();
        int copied = 0;
        while (copied < bytes) {
            int at = (int) (head - start) & (capacity - 1);
            int most = RingLayout.PORTION_BYTES - (int) (head - published);
            int piece = Math.min(Math.min(bytes - copied, capacity - at), most);
            target.put(to + copied, memory, data + at, piece);
            copied += piece;
            head += piece;
            if (piece == most) {
                publish();
            }
        }
        target.position(to + bytes);
    }

    private int publish(long before) {
        if (head != published) {
            publish();
        }
        return (int) (head - before);
    }

    private void publish() {
        RingLayout.LONGS.setRelease(memory, control + RingLayout.HEAD, head);
        published = head;
    }

    /** Whether there is something to read, or to complain of. */
    public boolean hasBytes() {
        return head != (long) RingLayout.LONGS.getAcquire(memory, control + RingLayout.TAIL);
    }

    /** Whether the writer wants a doorbell and half of the ring is free, so that one is owed to it. */
    public boolean takeWriterSleeps() {
        return tail - head <= capacity / 2
                && RingLayout.takeFlag(memory, control + RingLayout.WRITER_SLEEPS);
    }

    /** Says whether this end wants a doorbell when there are bytes. {@link #hasBytes()} is to be asked after. */
    public void sleeps(boolean sleeps) {
        RingLayout.announce(memory, control + RingLayout.READER_SLEEPS, sleeps);
    }

    void release() {
        memory = RingLayout.GONE;
    }
}
