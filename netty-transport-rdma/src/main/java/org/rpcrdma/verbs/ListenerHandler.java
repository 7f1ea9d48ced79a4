// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

/**
 * Receives the events of a listener, always from inside {@link EventLoopVerbsContext#poll} or {@link
 * EventLoopVerbsContext#deliverQueued}.
 */
public interface ListenerHandler {

    /**
     * A peer asks for a connection. The request is answered by a queue pair made from it, or rejected.
     *
     * @param request to be answered, now or later
     */
    void connectionRequested(ConnectionRequest request);

    /**
     * Accepting failed; the listener goes on.
     *
     * @param cause what the device said
     */
    void acceptFailed(Throwable cause);

    /**
     * The device has failed: no more requests arrive. The caller must still close the listener.
     *
     * @param cause what the device said
     */
    default void ended(Throwable cause) {
        acceptFailed(cause);
    }
}
