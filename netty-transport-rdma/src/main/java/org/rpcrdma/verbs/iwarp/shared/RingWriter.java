// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.shared;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Writing end of a byte ring between two threads, possibly of two processes. Single-threaded. Validates the positions
 * of the reader before use. After an exception it is to be closed.
 */
public final class RingWriter {

    /** Offset from which an empty ring is reset, so that light traffic stays in the caches. */
    static final int RESTART_BYTES = 4096;

    private final TruncationCheckedMappedMemory memory;
    private final int control;
    private final int data;
    private final int capacity;

    private long tail;
    private long published;
    private long start;
    private long head;
    private boolean owesBell;

    /**
     * @param control where the ring's control bytes begin
     * @param data where its bytes are
     * @param capacity how many there are, a power of two
     */
    RingWriter(TruncationCheckedMappedMemory memory, int control, int data, int capacity) {
        this.memory = memory;
        this.control = control;
        this.data = data;
        this.capacity = capacity;
    }

    /**
     * Writes as much as there is room for.
     *
     * @return the bytes written; the positions of the sources are behind them
     * @throws LostMemoryException when the memory is inaccessible
     * @throws IOException when the reader's position is invalid
     */
    public long write(ByteBuffer[] sources, int offset, int length) throws IOException {
        try {
            long wanted = 0;
            for (int i = offset; i < offset + length; i++) {
                wanted += sources[i].remaining();
            }
            int room = room(wanted);
            int left = room;
            for (int i = offset; left > 0 && i < offset + length; i++) {
                left -= put(sources[i], Math.min(left, sources[i].remaining()));
            }
            return finish(room - left);
        } catch (InternalError e) {
            throw memory.lost(e);
        }
    }

    /** As {@link #write(ByteBuffer[], int, int)}, of one source. */
    public int write(ByteBuffer source) throws IOException {
        try {
            return finish(put(source, Math.min(room(source.remaining()), source.remaining())));
        } catch (InternalError e) {
            throw memory.lost(e);
        }
    }

    private int room(long wanted) throws IOException {
        if (capacity - (tail - head) < wanted || tail - start >= RESTART_BYTES) {
            refreshHead();
        }
        if (head == tail && tail - start >= RESTART_BYTES) {
            start = tail;
            memory.opaque(control + RingLayout.START, start);
        }
        return capacity - (int) (tail - head);
    }

    private void refreshHead() throws IOException {
        long now = memory.acquire(control + RingLayout.HEAD);
        if (now - head < 0 || tail - now < 0) {
            // An invalid position may be the effect of lost memory.
            memory.verify();
            throw new IOException(
                    "The peer broke the rules of shared memory: it has read up to "
                            + now
                            + ", expected "
                            + head
                            + " to "
                            + tail);
        }
        head = now;
    }

    private int put(ByteBuffer source, int bytes) throws LostMemoryException {
        int from = source.position();
        int copied = 0;
        while (copied < bytes) {
            int at = (int) (tail - start) & (capacity - 1);
            int most = RingLayout.PORTION_BYTES - (int) (tail - published);
            int piece = Math.min(Math.min(bytes - copied, capacity - at), most);
            memory.write(data + at, source, from + copied, piece);
            copied += piece;
            tail += piece;
            if (piece == most) {
                publish();
            }
        }
        source.position(from + bytes);
        return bytes;
    }

    private int finish(int bytes) throws LostMemoryException {
        if (tail != published) {
            publish();
        }
        owesBell = bytes > 0 && testAndClearReaderSleeps();
        memory.verify();
        return bytes;
    }

    /** Lost bytes are not published: the peer would read undefined data. */
    private void publish() throws LostMemoryException {
        memory.verify();
        memory.release(control + RingLayout.TAIL, tail);
        published = tail;
    }

    private boolean testAndClearReaderSleeps() {
        boolean sleeps = memory.isAnnounced(control + RingLayout.READER_SLEEPS);
        if (sleeps) {
            memory.withdraw(control + RingLayout.READER_SLEEPS);
        }
        return sleeps;
    }

    /** Whether the last write was for a reader that sleeps, and is to be woken. */
    public boolean owesBell() {
        return owesBell;
    }

    /** Whether a writer that found too little room should try again: half of the ring is free, or the reader lies. */
    public boolean hasRoom() throws LostMemoryException {
        try {
            long now = memory.acquire(control + RingLayout.HEAD);
            memory.verify();
            return tail - now <= capacity / 2 || now - head < 0;
        } catch (InternalError e) {
            throw memory.lost(e);
        }
    }

    /** Says whether this end wants a doorbell when there is room. {@link #hasRoom()} is to be asked after. */
    public void sleeps(boolean sleeps) throws LostMemoryException {
        try {
            memory.announce(control + RingLayout.WRITER_SLEEPS, sleeps);
            memory.verify();
        } catch (InternalError e) {
            throw memory.lost(e);
        }
    }
}
