// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.RpcRdmaCounter;

/**
 * Counts the connections in a row that were perhaps lost by reverse calls (RFC 8167, 6): they have got some, and ended
 * before one was answered. Event loop only.
 */
final class ReverseCallLossCounter {

    /** After so many no connection is made only because there may be reverse calls. */
    static final int MOST = 3;

    private int inARow;

    /** A connection has ended; returns whether perhaps by a reverse call. */
    boolean lost(RpcRdmaConnection gone) {
        boolean hasAnswered = gone.value(RpcRdmaCounter.REPLIES_SENT) > 0;
        if (hasAnswered) {
            inARow = 0;
        }
        if (hasAnswered || gone.value(RpcRdmaCounter.CALLS_RECEIVED) == 0) {
            return false;
        }
        inARow++;
        return true;
    }

    int inARow() {
        return inARow;
    }

    boolean areTooMany() {
        return inARow >= MOST;
    }
}
