// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.RpcRdmaCounter;

/**
 * Counts consecutive connections that reverse calls may have broken (RFC 8167, 6): connections that received reverse
 * calls and were lost before any was answered. Event loop only.
 */
final class ConnectionsLostToReverseCallsCounter {

    /** Number of such losses after which no connection is made for reverse calls alone. */
    static final int MOST = 3;

    private int inARow;

    /** Whether a reverse call may have broken a connection that has ended. */
    static boolean mayHaveBroken(RpcRdmaConnection gone) {
        return gone.value(RpcRdmaCounter.REPLIES_SENT) == 0
                && gone.value(RpcRdmaCounter.CALLS_RECEIVED) > 0;
    }

    /** A connection has ended. */
    void lost(RpcRdmaConnection gone) {
        if (gone.value(RpcRdmaCounter.REPLIES_SENT) > 0) {
            inARow = 0;
        } else if (mayHaveBroken(gone)) {
            inARow++;
        }
    }

    int inARow() {
        return inARow;
    }

    boolean areTooMany() {
        return inARow >= MOST;
    }
}
