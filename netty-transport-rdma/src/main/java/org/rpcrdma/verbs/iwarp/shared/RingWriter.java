// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.shared;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * The writing end of a ring of bytes between two threads, maybe of two processes. For one thread. What the reader says
 * is checked before it is used.
 */
public final class RingWriter {

    /** From this offset on the ring begins anew once it is empty, so that little traffic touches little memory. */
    static final int RESTART_BYTES = 4096;

    private ByteBuffer memory;
    private final int control;
    private final int data;
    private final int capacity;

    private long tail;
    private long published;
    private long start;
    private long head;

    /**
     * @param memory the mapped memory
     * @param control where the ring's control bytes begin
     * @param data where its bytes are
     * @param capacity how many there are, a power of two
     */
    RingWriter(ByteBuffer memory, int control, int data, int capacity) {
        this.memory = memory;
        this.control = control;
        this.data = data;
        this.capacity = capacity;
    }

    /**
     * Writes as much as there is room for.
     *
     * @return the bytes written; the positions of the sources are behind them
     * @throws IOException when the reader claims what cannot be
     */
    public long write(ByteBuffer[] sources, int offset, int length) throws IOException {
        long wanted = 0;
        for (int i = offset; i < offset + length; i++) {
            wanted += sources[i].remaining();
        }
        int room = room(wanted);
        int left = room;
        for (int i = offset; left > 0 && i < offset + length; i++) {
            left -= put(sources[i], Math.min(left, sources[i].remaining()));
        }
        return publish(room - left);
    }

    /** As {@link #write(ByteBuffer[], int, int)}, of one source. */
    public int write(ByteBuffer source) throws IOException {
        return publish(put(source, Math.min(room(source.remaining()), source.remaining())));
    }

    private int room(long wanted) throws IOException {
        if (capacity - (tail - head) < wanted || tail - start >= RESTART_BYTES) {
            refreshHead();
        }
        if (head == tail && tail - start >= RESTART_BYTES) {
            start = tail;
            RingLayout.LONGS.setOpaque(memory, control + RingLayout.START, start);
        }
        return capacity - (int) (tail - head);
    }

    private void refreshHead() throws IOException {
        long now = (long) RingLayout.LONGS.getAcquire(memory, control + RingLayout.HEAD);
        if (now - head < 0 || tail - now < 0) {
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

    private int put(ByteBuffer source, int bytes) {
        int from = source.position();
        int copied = 0;
        while (copied < bytes) {
            int at = (int) (tail - start) & (capacity - 1);
            int most = RingLayout.PORTION_BYTES - (int) (tail - published);
            int piece = Math.min(Math.min(bytes - copied, capacity - at), most);
            memory.put(data + at, source, from + copied, piece);
            copied += piece;
            tail += piece;
            if (piece == most) {
                publish();
            }
        }
        source.position(from + bytes);
        return bytes;
    }

    private int publish(int bytes) {
        if (tail != published) {
            publish();
        }
        return bytes;
    }

    private void publish() {
        RingLayout.LONGS.setRelease(memory, control + RingLayout.TAIL, tail);
        published = tail;
    }

    /** Whether a writer that found too little room should try again: half of the ring is free, or the reader lies. */
    public boolean hasRoom() {
        long now = (long) RingLayout.LONGS.getAcquire(memory, control + RingLayout.HEAD);
        return tail - now <= capacity / 2 || now - head < 0;
    }

    /** Whether the reader wants a doorbell now, which then is owed to it. */
    public boolean takeReaderSleeps() {
        return RingLayout.takeFlag(memory, control + RingLayout.READER_SLEEPS);
    }

    /** Says whether this end wants a doorbell when there is room. {@link #hasRoom()} is to be asked after. */
    public void sleeps(boolean sleeps) {
        RingLayout.announce(memory, control + RingLayout.WRITER_SLEEPS, sleeps);
    }

    void release() {
        memory = RingLayout.GONE;
    }
}
