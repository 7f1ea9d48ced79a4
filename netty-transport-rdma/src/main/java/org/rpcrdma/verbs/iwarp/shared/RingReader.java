// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.shared;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Reading end of a byte ring between two threads, possibly of two processes. Single-threaded. Validates the positions
 * of the writer before use, and copies data out before they are parsed. After an exception it is to be closed.
 */
public final class RingReader {

    private final TruncationCheckedMappedMemory memory;
    private final int control;
    private final int data;
    private final int capacity;

    private long head;
    private long published;
    private long tail;
    private long start;
    private boolean owesBell;

    /**
     * @param control where the ring's control bytes begin
     * @param data where its bytes are
     * @param capacity how many there are, a power of two
     */
    RingReader(TruncationCheckedMappedMemory memory, int control, int data, int capacity) {
        this.memory = memory;
        this.control = control;
        this.data = data;
        this.capacity = capacity;
    }

    /**
     * Reads as much as there is, or fits.
     *
     * @return the bytes read; the positions of the targets are behind them
     * @throws LostMemoryException when the memory is inaccessible; the content of the targets is undefined
     * @throws IOException when the writer's position is invalid
     */
    public long read(ByteBuffer[] targets, int offset, int length) throws IOException {
        try {
            refreshTail();
            long before = head;
            for (int i = offset; head != tail && i < offset + length; i++) {
                get(targets[i]);
            }
            return finish(before);
        } catch (InternalError e) {
            throw memory.lost(e);
        }
    }

    /** As {@link #read(ByteBuffer[], int, int)}, into one target. */
    public int read(ByteBuffer target) throws IOException {
        try {
            refreshTail();
            long before = head;
            get(target);
            return finish(before);
        } catch (InternalError e) {
            throw memory.lost(e);
        }
    }

    private void refreshTail() throws IOException {
        long now = memory.acquire(control + RingLayout.TAIL);
        if (now == tail) {
            return;
        }
        long unread = now - head; // negative where the distance overflows
        if (now - tail < 0 || unread < 0 || unread > capacity) {
            throw lie(
                    "it has written up to "
                            + now
                            + ", expected "
                            + tail
                            + " to "
                            + (head + capacity));
        }
        long began = memory.opaque(control + RingLayout.START);
        if (began != start) {
            // Only an empty ring is reset, at the last read position.
            if (began != head) {
                throw lie("the ring begins at " + began + ", expected " + start + " or " + head);
            }
            start = began;
        }
        tail = now;
    }

    /** An invalid position may be the effect of lost memory. */
    private IOException lie(String what) throws LostMemoryException {
        memory.verify();
        return new IOException("The peer broke the rules of shared memory: " + what);
    }

    private void get(ByteBuffer target) {
        int bytes = (int) Math.min(tail - head, target.remaining());
        int to = target.position();
        int copied = 0;
        while (copied < bytes) {
            int at = (int) (head - start) & (capacity - 1);
            int most = RingLayout.PORTION_BYTES - (int) (head - published);
            int piece = Math.min(Math.min(bytes - copied, capacity - at), most);
            memory.read(data + at, target, to + copied, piece);
            copied += piece;
            head += piece;
            if (piece == most) {
                publish();
            }
        }
        target.position(to + bytes);
    }

    private int finish(long before) throws LostMemoryException {
        if (head != published) {
            publish();
        }
        owesBell = head != before && tail - head <= capacity / 2 && testAndClearWriterSleeps();
        memory.verify();
        return (int) (head - before);
    }

    private void publish() {
        memory.release(control + RingLayout.HEAD, head);
        published = head;
    }

    private boolean testAndClearWriterSleeps() {
        boolean sleeps = memory.isAnnounced(control + RingLayout.WRITER_SLEEPS);
        if (sleeps) {
            memory.withdraw(control + RingLayout.WRITER_SLEEPS);
        }
        return sleeps;
    }

    /** Whether the last read has freed half of the ring, enough to wake a sleeping writer. */
    public boolean owesBell() {
        return owesBell;
    }

    /** Whether there is something to read, or to complain of. */
    public boolean hasBytes() throws LostMemoryException {
        try {
            boolean has = head != memory.acquire(control + RingLayout.TAIL);
            memory.verify();
            return has;
        } catch (InternalError e) {
            throw memory.lost(e);
        }
    }

    /** Says whether this end wants a doorbell when there are bytes. {@link #hasBytes()} is to be asked after. */
    public void sleeps(boolean sleeps) throws LostMemoryException {
        try {
            memory.announce(control + RingLayout.READER_SLEEPS, sleeps);
            memory.verify();
        } catch (InternalError e) {
            throw memory.lost(e);
        }
    }
}
