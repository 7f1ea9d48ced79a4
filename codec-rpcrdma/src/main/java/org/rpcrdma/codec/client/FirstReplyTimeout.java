// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

/**
 * Time-out for the first call on a new connection: its only credit goes to this call (RFC 8166, 3.3.3), so all other
 * calls wait for the reply. Event loop only.
 */
final class FirstReplyTimeout {

    /** The most doublings of the time-out. */
    private static final int MAX_DOUBLINGS = 16;

    private final long nanos;

    /** Consecutive connections without any answer. */
    private int silentStarts;

    private boolean isTimed;
    private long deadline;

    /**
     * @param nanos for the first connection, doubled for each consecutive silent one
     */
    FirstReplyTimeout(long nanos) {
        this.nanos = nanos;
    }

    /** A call is about to be sent; a call that must not be retransmitted is not timed. */
    void sent(CallWithReplyFuture<?> call, long now) {
        isTimed = call.options.isRetransmitted() || call.isOfOneChannel;
        deadline = now + (nanos << Math.min(silentStarts, MAX_DOUBLINGS));
    }

    /** Whether the connection must answer by {@link #deadline}. */
    boolean isTimed() {
        return isTimed;
    }

    long deadline() {
        return deadline;
    }

    /** Whether the deadline has passed. */
    boolean isOver(long now) {
        return isTimed && deadline - now <= 0;
    }

    /** The deadline has passed, which is acted on once. */
    void expired() {
        isTimed = false;
    }

    /** The responder has not answered in time. */
    void silent() {
        silentStarts++;
    }

    /**
     * The connection has ended.
     *
     * @param hasAnswered whether the responder has ever answered on it
     */
    void ended(boolean hasAnswered) {
        isTimed = false;
        silentStarts = hasAnswered ? 0 : silentStarts;
    }
}
