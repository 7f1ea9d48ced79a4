// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * Credit accounting of a responder (RFC 8166, 3.3.1): an absolute limit, never 0, and never more than the receives
 * behind it.
 *
 * <p>Each grant is a promise: with it the requester may have sent, since the connection was made, as many calls as
 * were answered by then plus the grant. A lower grant later does not take that back, because calls may be on their
 * way; so the highest promise counts, both for the receives that have to stay posted and for what is an overrun.
 */
final class ResponderCredits {

    private final int maximum;
    private int granted;

    /** Counts of calls since the connection was made. */
    private long received;

    private long answered;
    private long promised;

    /**
     * @param configured the highest grant that is wanted
     * @param receives posted at any time
     */
    ResponderCredits(int configured, int receives) {
        maximum = Math.max(1, Math.min(configured, receives));
        granted = maximum;
        promised = maximum;
    }

    /** The highest grant. */
    int maximum() {
        return maximum;
    }

    /** The newest grant. */
    int granted() {
        return granted;
    }

    int unanswered() {
        return (int) (received - answered);
    }

    /** Counts a call; {@code false} when the requester has no credit for it. */
    boolean countReceived() {
        return ++received <= promised;
    }

    void answered() {
        answered++;
    }

    /** A call was answered with an error before it was counted. */
    void refused() {
        received++;
        answered++;
    }

    /** The grant that goes out with the next message: what is wanted, within 1 and the maximum. */
    int grant(int wanted) {
        granted = Math.max(1, Math.min(wanted, maximum));
        promised = Math.max(promised, answered + granted);
        return granted;
    }

    /** The calls that may come from now on: so many receives have to stay posted. */
    int outstanding() {
        return (int) (promised - received);
    }
}
