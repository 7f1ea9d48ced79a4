// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

/**
 * Ends of the DATA messages of a stream whose bytes are not delivered. If there are many, the last ones count as one
 * message: a peer may announce each byte by itself.
 */
final class DataMessageBoundaries {

    /** The most ends; a power of two. */
    static final int MOST = 16;

    /** Ring of ends, in bytes since the beginning of the stream. */
    private final long[] ends = new long[MOST];

    private int head;
    private int tail;

    private long received;
    private long delivered;

    /** End of the last message that is fully delivered. */
    private long lastEnd;

    /** A DATA message has announced that many bytes. */
    void received(int bytes) {
        received += bytes;
        if (tail - head == MOST) {
            tail--;
        }
        ends[slot(tail++)] = received;
    }

    private static int slot(int number) {
        return number & (MOST - 1);
    }

    /** The next bytes were delivered or discarded. */
    void delivered(int bytes) {
        delivered += bytes;
        while (head != tail && ends[slot(head)] <= delivered) {
            lastEnd = ends[slot(head++)];
        }
    }

    /** Whether the bytes of a message are delivered in part. */
    boolean isWithinMessage() {
        return delivered > lastEnd;
    }
}
