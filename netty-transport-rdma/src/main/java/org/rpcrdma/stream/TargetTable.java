// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.stream;

import io.netty.buffer.ByteBuf;

/**
 * This end's target SGL: where the peer wants its data. The peer writes entries, and says so by a SGL message; each is
 * copied once, and what the peer writes later does not change it.
 *
 * <p>Entries are looked at when a SGL message was received and never else: only a completion orders what a device has
 * written before the reads of this end.
 */
public final class TargetTable {

    /** One entry is in use while the peer writes the other. */
    public static final int ENTRIES = 2;

    /** The length of the table in bytes. */
    public static final int BYTES = ENTRIES * TargetEntry.BYTES;

    private final ByteBuf memory;

    /** The next entry to be copied. */
    private int next;

    /** The buffer in use; with nothing left when the peer has published no other. */
    private long offset;

    private int key;
    private long left;

    /** Published and not in use yet. */
    private TargetEntry waiting;

    /** @param memory of {@link #BYTES} bytes, which the peer writes; it stays the caller's */
    public TargetTable(ByteBuf memory) {
        this.memory = memory;
        memory.setZero(0, BYTES);
    }

    /** Begins with the buffer that stood in the peer's private data: it was entry 0. */
    public void open(TargetEntry first) {
        use(first);
        next = 1;
    }

    /** A SGL message was received: takes the entry that may have been written before it. */
    public void update() {
        if (waiting != null) {
            // The peer publishes a buffer that cannot be needed yet. It stays in the table.
            return;
        }
        int index = next * TargetEntry.BYTES;
        TargetEntry entry = TargetEntry.get(memory, index);
        if (entry.length() == 0) {
            return;
        }
        TargetEntry.clear(memory, index);
        next = (next + 1) % ENTRIES;
        if (left == 0) {
            use(entry);
        } else {
            waiting = entry;
        }
    }

    private void use(TargetEntry entry) {
        offset = entry.offset();
        key = entry.key();
        left = entry.length();
    }

    /** Where the next byte goes, unsigned. */
    public long offset() {
        return offset;
    }

    /** The key of the buffer in use. */
    public int key() {
        return key;
    }

    /** How many bytes the buffer in use still takes; 0 when nothing can be sent now. */
    public long room() {
        return left;
    }

    /**
     * Bytes were written, at most {@link #room()}.
     *
     * @return whether the buffer is full: what was written to it has to be announced before anything goes to the
     *     next one
     */
    public boolean written(int bytes) {
        if (bytes > left) {
            throw new IllegalArgumentException(bytes + " bytes written, expected at most " + left);
        }
        offset += bytes;
        left -= bytes;
        if (left > 0) {
            return false;
        }
        if (waiting != null) {
            use(waiting);
            waiting = null;
        }
        return true;
    }
}
