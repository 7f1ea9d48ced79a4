// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * One direction of a {@link SimulatedConnection}. Written bytes are in flight until the network delivers them, any
 * number at a time; delivered bytes can be read. Together they are limited, as by TCP's windows and buffers.
 */
final class SimulatedPipe {

    /** Overwrite bytes that were read, so that bytes read twice are seen. */
    private static final byte[] READ = new byte[16 << 10];

    /** Frames of the start-up have no CRC (RFC 5044, 7.1), and no more bytes than these. */
    private static final int STARTUP_BYTES = 1024;

    static {
        Arrays.fill(READ, (byte) 0xEE);
    }

    private final String name;
    private final int capacity;
    private SimulatedPipe opposite;

    /** From {@link #head} to {@link #delivered} to be read, from there to {@link #tail} in flight. */
    private byte[] bytes = new byte[4096];

    private int head;
    private int delivered;
    private int tail;
    private long stalledUntil;
    private boolean isEnded;
    private boolean isEndDelivered;
    private boolean isReset;
    private boolean isReaderClosed;
    private boolean isSilent;
    private long lastArrival;

    /** How many bytes arrive before both directions are reset; negative for no end. */
    private long left = -1;

    /** Whether a bit of what arrives next is wrong. */
    private boolean isDamaging;

    private long arrived;

    SimulatedPipe(String name, int capacity) {
        this.name = name;
        this.capacity = capacity;
    }

    /** The other direction, which is reset with this one when bytes arrive at a closed end. */
    void opposite(SimulatedPipe other) {
        opposite = other;
    }

    // ------------------------------------------------------------------ ends

    boolean isWritable() {
        return isReset || tail - head < capacity;
    }

    boolean isReadable() {
        return isReset || delivered > head || isEndDelivered;
    }

    int write(ByteBuffer source) throws IOException {
        if (isReset) {
            throw new IOException("Connection reset by peer");
        }
        int count = Math.min(source.remaining(), capacity - (tail - head));
        if (count <= 0) {
            return 0;
        }
        makeRoom(count);
        source.get(bytes, tail, count);
        tail += count;
        return count;
    }

    private void makeRoom(int count) {
        if (tail + count <= bytes.length) {
            return;
        }
        int length = tail - head;
        int needed = length + count;
        byte[] to = needed > bytes.length / 2 ? new byte[2 * needed] : bytes;
        System.arraycopy(bytes, head, to, 0, length);
        bytes = to;
        delivered -= head;
        tail = length;
        head = 0;
    }

    int read(ByteBuffer target) throws IOException {
        if (delivered > head) {
            int count = Math.min(target.remaining(), delivered - head);
            target.put(bytes, head, count);
            for (int done = 0; done < count; done += READ.length) {
                int length = Math.min(count - done, READ.length);
                System.arraycopy(READ, 0, bytes, head + done, length);
            }
            head += count;
            return count;
        }
        if (isReset) {
            throw new IOException("Connection reset by peer");
        }
        return isEndDelivered ? -1 : 0;
    }

    /** Sends a FIN behind the last byte. */
    void end() {
        isEnded = true;
    }

    /** Loses the bytes in flight; both ends see the reset, behind the bytes that were delivered. */
    void reset() {
        isReset = true;
        tail = delivered;
    }

    boolean isReset() {
        return isReset;
    }

    /**
     * Closes the end that reads. Unread bytes make it a reset (RFC 1122, 4.2.2.13).
     *
     * @return whether it was a reset
     */
    boolean closeReader() {
        isReaderClosed = true;
        boolean isUnread = delivered > head;
        if (isUnread) {
            reset();
        }
        return isUnread;
    }

    // ------------------------------------------------------------------ network

    void silence() {
        isSilent = true;
    }

    boolean isSilent() {
        return isSilent;
    }

    /** Whether it has delivered all that it ever will. */
    boolean isOver() {
        return isReset || isEndDelivered;
    }

    /** Whether the sender waits for an acknowledgement, so that it retransmits instead of probing. */
    boolean isUnacknowledged() {
        return delivered < tail;
    }

    /** When bytes have last arrived. */
    long lastArrival() {
        return lastArrival;
    }

    /** Says when it begins. */
    void begin(long time) {
        lastArrival = time;
    }

    /** Resets the connection behind so many more bytes. */
    void cutAfter(long bytes) {
        left = bytes;
    }

    /** A bit of what arrives next is wrong, and TCP's checksum does not see it. */
    void damage() {
        isDamaging = true;
    }

    void stall(long until) {
        stalledUntil = until;
    }

    /** When deliveries go on. */
    long stalledUntil() {
        return stalledUntil;
    }

    /** Whether there is something to deliver, now or when a stall is over. */
    boolean isInFlight() {
        return !isSilent && !isReset && (delivered < tail || (isEnded && !isEndDelivered));
    }

    int bytesInFlight() {
        return tail - delivered;
    }

    /** Delivers up to so many bytes, and the FIN behind the last one. */
    void deliver(int count, long time) {
        lastArrival = time;
        if (isReaderClosed) {
            // A closed port answers with a reset (RFC 9293, 3.10.7.1).
            if (delivered < tail) {
                reset();
                opposite.reset();
            }
            isEndDelivered = true;
            return;
        }
        int arriving = Math.min(tail - delivered, count);
        if (left >= 0 && arriving >= left) {
            delivered += (int) left;
            reset();
            opposite.reset();
            return;
        }
        arrived += arriving;
        if (isDamaging && arriving > 0 && arrived > STARTUP_BYTES) {
            isDamaging = false;
            bytes[delivered + arriving - 1] ^= 0x10;
        }
        delivered += arriving;
        left -= left < 0 ? 0 : arriving;
        if (isEnded && delivered == tail) {
            isEndDelivered = true;
        }
    }

    @Override
    public String toString() {
        return name;
    }
}
