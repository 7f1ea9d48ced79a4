// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.stream;

/**
 * The receive buffers that the peer knows: at most two, the one that it fills and the one that comes after it. Counts
 * what DATA messages say against them.
 */
public final class PublishedReceiveBuffers {

    private static final int MOST = PeerReceiveBufferTable.ENTRIES;

    private final int[] lengths = new int[MOST];
    private int first;
    private int count;
    private int filled;

    private long tableOffset;
    private int tableEntries = 1;
    private int next;

    /** @param firstLength of the buffer that stands in the private data, in bytes */
    public PublishedReceiveBuffers(int firstLength) {
        add(firstLength);
    }

    /** What the peer has said of its table is known now: entry 0 stood in the private data, the next one is 1. */
    public void open(StreamPrivateData peer) {
        tableOffset = peer.tableOffset();
        tableEntries = peer.tableEntries();
        next = 1;
    }

    private void add(int length) {
        if (count == MOST) {
            throw new IllegalStateException(
                    "the peer knows " + count + " buffers, and none of them is full");
        }
        lengths[(first + count) % MOST] = length;
        count++;
    }

    /**
     * Publishes a buffer. The entry that is written for it has been used up before.
     *
     * @param length in bytes, more than 0
     * @return the offset in the peer's table where its entry is to be written
     * @throws IllegalStateException when the peer knows two buffers that are not full
     */
    public long publish(int length) {
        add(length);
        long offset = tableOffset + (long) next * ReceiveBufferAddress.BYTES;
        next = (next + 1) % tableEntries;
        return offset;
    }

    /**
     * A DATA message was received.
     *
     * @return whether it has filled its buffer, which the peer must not reach any more
     * @throws StreamProtocolException when it counts nothing, or more than the buffer has left
     */
    public boolean addReceived(int bytes) throws StreamProtocolException {
        int left = left();
        if (bytes <= 0 || bytes > left) {
            throw new StreamProtocolException(
                    "The peer announces "
                            + bytes
                            + " bytes of data, expected 1 to "
                            + left
                            + ", which its receive buffer has left");
        }
        filled += bytes;
        if (filled < lengths[first]) {
            return false;
        }
        filled = 0;
        first = (first + 1) % MOST;
        count--;
        return true;
    }

    /** What the buffer that the peer fills has left, in bytes; 0 when none is published. */
    public int left() {
        return count == 0 ? 0 : lengths[first] - filled;
    }
}
