// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.nio.channels.SelectionKey;

/** Attachment of a selection key: a socket that waits for an event. */
interface SelectionKeyHandler {

    /**
     * The socket is ready. An exception ends this socket only, by {@link #failed}.
     *
     * @param operations for what, and it waits for it: the bits of a {@link SelectionKey}, at least one
     */
    void ready(int operations) throws IOException;

    /** Whether its events may wait for the next poll: it moves many bytes, and has no start-up to finish in time. */
    default boolean mayWait() {
        return false;
    }

    /** {@link #ready} has failed. */
    void failed(Exception cause);
}
