// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

/**
 * Sizes the next receive buffer of a stream: a peer that fills each one with a few messages gets larger ones, since
 * each costs a message and a read of the table, and keeps them until small messages have filled one.
 */
final class AdaptiveStreamBufferSize {

    /**
     * Of the first buffers, in bytes, unless less is allowed: as much as fits the longest FPDU (RFC 5044, 5.1) and,
     * with the message about it, one TCP segment of the loopback. Twice as much fits two, and so on.
     */
    static final int FIRST = 63 << 10;

    /** A buffer that so many messages have filled was too small, and one that took so many was too large. */
    static final int FEW_MESSAGES = 8;

    static final int MANY_MESSAGES = 64;

    private final int least;
    private final int most;
    private int size;
    private int messages;

    /** @param most of a buffer, in bytes */
    AdaptiveStreamBufferSize(int most) {
        this.most = most;
        least = Math.min(FIRST, most);
        size = least;
    }

    /** Of the next buffer, in bytes. */
    int next() {
        return size;
    }

    /** There was no memory for one so large; returns whether a smaller one will do. */
    boolean refused() {
        boolean isLonger = size > least;
        size = least;
        return isLonger;
    }

    /** A message has told of bytes in the buffer that is being filled. */
    void message() {
        messages++;
    }

    /**
     * That buffer is full.
     *
     * @param length of it; one that is older than the last change says nothing
     */
    void filled(int length) {
        if (length == size && messages <= FEW_MESSAGES) {
            size = Math.min(2 * size, most);
        } else if (length == size && messages >= MANY_MESSAGES) {
            size = Math.max(size / 2, least);
        }
        messages = 0;
    }
}
