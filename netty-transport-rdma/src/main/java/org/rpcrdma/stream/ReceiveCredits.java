// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.stream;

/**
 * The credits that this end grants. A receive is posted again as soon as its message was seen, and what a message
 * announces is bounded by the buffers that are published. So a credit is free again as soon as its message was
 * received; it is granted late, with a published buffer or when half of the credits are free.
 */
public final class ReceiveCredits {

    private final int window;
    private int received;
    private int granted;

    /** @param credits what stood in the private data, 1 to 65535 */
    public ReceiveCredits(int credits) {
        window = credits;
        granted = credits;
    }

    /**
     * A message came that costs a credit.
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

    /** Whether it is time for a message that grants and nothing else. */
    public boolean isDue() {
        return 2 * (received + window - granted) >= window;
    }

    /** The limit for a SGL message that is sent now; of it the low 16 bits count. */
    public int grant() {
        granted = received + window;
        return granted;
    }
}
