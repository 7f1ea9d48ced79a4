// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

/**
 * Time-out for the first call on a new connection: its only credit goes to this call (RFC 8166, 3.3.3), so all other
 * calls wait for the reply. Event loop only.
 */
final class FirstReplyTimeout {

    /** The most doublings of the time. */
    private static final int MAX_DOUBLINGS = 16;

    private final long nanos;

    /** Connections in a row that have never answered. */
    private int silentStarts;

    private boolean isTimed;
    private long deadline;

    /**
     * @param nanos for the first connection, doubled for each further one
     */
    FirstReplyTimeout(long nanos) {
        this.nanos = nanos;
    }

    /** It is about to go out; a call that must go nowhere else is not timed. */
    void sent(CallReplyFuture<?> call, long now) {
        isTimed = call.options.isRetransmitted() || call.isOfOneChannel;
        deadline = now + (nanos << Math.min(silentStarts, MAX_DOUBLINGS));
    }

    /** Whether the connection has to have answered at {@link #deadline}. */
    boolean isTimed() {
        return isTimed;
    }

    long deadline() {
        return deadline;
    }

    /** Looks at the time; true once, when it is over. */
    boolean isOver(long now) {
        boolean isOver = isTimed && deadline - now <= 0;
        isTimed &= !isOver;
        return isOver;
    }

    /** Nothing was answered in time. */
    void silent() {
        silentStarts++;
    }

    /**
     * The connection is gone.
     *
     * @param hasAnswered whether it has ever answered
     */
    void ended(boolean hasAnswered) {
        isTimed = false;
        silentStarts = hasAnswered ? 0 : silentStarts;
    }
}
