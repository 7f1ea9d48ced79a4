// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

/**
 * Computes the size of a stream's next receive buffer. Grows it while the peer fills buffers with few messages, because
 * each buffer costs a message and a read of the target SGL; shrinks it when small messages fill a buffer.
 */
final class AdaptiveStreamReceiveBufferSize {

    /**
     * Initial size in bytes, unless the limit is lower: fits the longest FPDU (RFC 5044, 5.1) and, with its DATA
     * message, one TCP segment of the loopback interface. Multiples fit as many.
     */
    static final int FIRST = 63 << 10;

    /** A buffer filled by at most this many messages was too small; {@link #MANY_MESSAGES} or more mean too large. */
    static final int FEW_MESSAGES = 8;

    static final int MANY_MESSAGES = 64;

    private final int least;
    private final int most;
    private int size;
    private int messages;

    /** @param most the largest size in bytes */
    AdaptiveStreamReceiveBufferSize(int most) {
        this.most = most;
        least = Math.min(FIRST, most);
        size = least;
    }

    /** Size of the next buffer in bytes. */
    int next() {
        return size;
    }

    /** Whether no smaller size is possible. */
    boolean isLeast() {
        return size == least;
    }

    /** Memory for the size was refused. */
    void shrink() {
        size = least;
    }

    /** Counts a DATA message for the current buffer. */
    void message() {
        messages++;
    }

    /**
     * The current buffer is full.
     *
     * @param length of the buffer; ignored if the buffer is older than the last change of size
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
