// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * Credit accounting of a responder (RFC 8166, 3.3.1): an absolute limit, never 0, and never above the number of posted
 * receives.
 *
 * <p>A grant permits the requester to have sent, since the start of the connection, as many calls as were answered when
 * the grant was sent, plus the grant. A later, lower grant does not revoke this, because calls may be in flight. So the
 * highest permission decides how many receives must stay posted, and what is an overrun.
 */
final class ResponderCredits {

    /** The highest grant. */
    final int maximum;

    private int granted;

    /** Numbers of calls since the start of the connection. */
    private long received;

    private long answered;
    private long promised;

    /**
     * @param configured the highest grant by configuration
     * @param receives posted at any time
     */
    ResponderCredits(int configured, int receives) {
        maximum = Math.max(1, Math.min(configured, receives));
        granted = maximum;
        promised = maximum;
    }

    /** The newest grant. */
    int granted() {
        return granted;
    }

    int unanswered() {
        return (int) (received - answered);
    }

    /** Counts a call; {@code false} if the requester has no credit for it, which ends the connection. */
    boolean tryAcquire() {
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

    /** Grants credits with the next message: the wanted number, within 1 and the maximum. */
    int grant(int wanted) {
        granted = Math.max(1, Math.min(wanted, maximum));
        promised = Math.max(promised, answered + granted);
        return granted;
    }

    /** Calls that may still arrive, which is the number of receives that must stay posted. */
    int outstanding() {
        return (int) (promised - received);
    }
}
