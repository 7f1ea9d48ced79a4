// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.stream;

import io.netty.buffer.ByteBuf;

/**
 * Addresses of the peer's receive buffers, rsocket's target SGL of this end. The peer writes entries and announces them
 * by an SGL message; each entry is copied once, so that later writes do not change it.
 *
 * <p>Entries are read only after an SGL message was received: only its completion orders the device's writes before the
 * reads of this end. The message may be that of an earlier entry, or grant credits alone, while the device writes this
 * one: an entry without a length is read again after the next message.
 */
public final class PeerReceiveBufferTable {

    /** One entry is in use while the peer writes the other. */
    public static final int ENTRIES = 2;

    /** The length of the table in bytes. */
    public static final int BYTES = ENTRIES * ReceiveBufferAddress.BYTES;

    private final ByteBuf memory;

    /** The next entry to be copied. */
    private int next;

    /** The buffer in use; without room left if the peer has published no other. */
    private long offset;

    private int key;
    private long left;

    /** Published and not in use yet. */
    private ReceiveBufferAddress waiting;

    /** @param memory of {@link #BYTES} bytes, which the peer writes; owned by the caller */
    public PeerReceiveBufferTable(ByteBuf memory) {
        this.memory = memory;
        memory.setZero(0, BYTES);
    }

    /** Begins with the buffer of the peer's private data, which is entry 0. */
    public void open(ReceiveBufferAddress first) {
        use(first);
        next = 1;
    }

    /** An SGL message was received: takes the entry that may have been written before it. */
    public void update() {
        if (waiting != null) {
            // A published buffer that is not needed yet stays in the table.
            return;
        }
        int index = next * ReceiveBufferAddress.BYTES;
        ReceiveBufferAddress entry = ReceiveBufferAddress.get(memory, index);
        if (entry == null) {
            return;
        }
        ReceiveBufferAddress.clear(memory, index);
        next = (next + 1) % ENTRIES;
        if (left == 0) {
            use(entry);
        } else {
            waiting = entry;
        }
    }

    private void use(ReceiveBufferAddress entry) {
        offset = entry.offset();
        key = entry.key();
        left = entry.length();
    }

    /** Offset of the next byte, unsigned. */
    public long offset() {
        return offset;
    }

    /** The key of the buffer in use. */
    public int key() {
        return key;
    }

    /** Bytes left in the buffer in use; 0 if no data can be sent now. */
    public long room() {
        return left;
    }

    /**
     * Bytes were written, at most {@link #room()}.
     *
     * @return whether the buffer is full: its bytes must be announced before any are written to the next one
     */
    public boolean addWritten(int bytes) {
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
