// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.stream;

/**
 * Credits for DATA messages to send. The peer names an absolute limit, modulo 2<sup>16</sup>.
 *
 * <p>Credits count DATA messages only, and over iWARP a message without a posted receive ends the connection. librdmacm
 * posts as many receives as it grants credits, so half of them are reserved for uncounted messages. A larger reserve
 * could deadlock, because librdmacm grants new credits only after half of them were used.
 */
public final class SendCredits {

    private static final int MASK = 0xffff;

    private final int window;
    private final int reserve;
    private int sent;
    private int limit;

    /** @param credits what the peer's private data offers, 1 to 65535 */
    public SendCredits(int credits) {
        window = credits;
        reserve = credits / 2;
        limit = credits;
    }

    /**
     * An SGL message has arrived.
     *
     * @param value of which the low 16 bits count
     * @throws StreamProtocolException if the limit exceeds any possible offer
     */
    public void limit(int value) throws StreamProtocolException {
        int left = (value - sent) & MASK;
        if (left > window) {
            throw new StreamProtocolException(
                    "The peer sets its credit limit to "
                            + (value & MASK)
                            + " after "
                            + (sent & MASK)
                            + " messages, expected at most "
                            + window
                            + " more than that");
        }
        limit = value & MASK;
    }

    /** Number of DATA messages that may be sent now. */
    public int available() {
        return Math.max(0, ((limit - sent) & MASK) - reserve);
    }

    /** A DATA message was sent. */
    public void sent() {
        sent = (sent + 1) & MASK;
    }
}
