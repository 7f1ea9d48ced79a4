// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.stream;

/**
 * The credits that this end grants. A receive is posted again as soon as its message was processed, and published
 * buffers bound the announced bytes. So a credit is free as soon as its message was received; it is granted later, with
 * a published buffer or when half of the credits are free.
 */
public final class ReceiveCredits {

    private final int window;
    private int received;
    private int granted;

    /** @param credits from the private data, 1 to 65535 */
    public ReceiveCredits(int credits) {
        window = credits;
        granted = credits;
    }

    /**
     * Counts a message that costs a credit.
     *
     * @throws StreamProtocolException when the peer had none left
     */
    public void received() throws StreamProtocolException {
        if (received == granted) {
            throw new StreamProtocolException(
                    "The peer sent a DATA message without a credit, expected at most "
                            + window
                            + " that were not granted again");
        }
        received++;
    }

    /** Whether a message that only grants credits is due. */
    public boolean isDue() {
        return 2 * (received + window - granted) >= window;
    }

    /** The limit for an SGL message sent now, of which the low 16 bits count. */
    public int grant() {
        granted = received + window;
        return granted;
    }
}
