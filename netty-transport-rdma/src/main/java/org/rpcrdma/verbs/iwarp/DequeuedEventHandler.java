// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

/** Takes events out of the {@link PolledEventQueue}. */
interface DequeuedEventHandler {

    /** A kind of event; the same numbers mean the same for all targets. */
    enum Kind {
        COMPLETED,
        CONNECTED,
        CONNECT_FAILED,
        DISCONNECTED,
        CONNECTION_REQUESTED,
        ACCEPT_FAILED
    }

    /** Calls the handler, unless it is closed. */
    void deliver(Kind kind, Object argument, long id, int length, int key);
}
