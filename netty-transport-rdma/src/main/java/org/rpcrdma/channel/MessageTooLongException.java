// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.io.IOException;

/** A Send was longer than {@link RdmaChannelOption#MAX_SEND_SIZE}. Nothing was sent; the channel is unharmed. */
public final class MessageTooLongException extends IOException {

    private static final long serialVersionUID = 1L;

    /**
     * A Send that was refused before it went out.
     *
     * @param length of the message in bytes
     * @param limit the longest Send in bytes
     */
    public MessageTooLongException(int length, int limit) {
        super(
                "message of "
                        + length
                        + " bytes (expected: at most "
                        + limit
                        + ", the longest that the peer is known to take; see"
                        + " RdmaChannelOption.MAX_SEND_SIZE, and RECEIVE_SIZE of the peer)");
    }
}
