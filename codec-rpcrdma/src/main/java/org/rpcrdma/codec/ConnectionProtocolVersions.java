// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Versions of the protocol that one connection speaks, and the version of its outbound calls
 * (draft-cel-nfsv4-rpcrdma-version-two-01, 5). Changed on the event loop; {@link #settled} and {@link #current} are for
 * any thread.
 */
final class ConnectionProtocolVersions {

    private final VersionInlineThresholds one;

    /** {@code null} if version 2 is not configured. */
    private final VersionInlineThresholds two;

    /** Version of outbound calls now. */
    volatile VersionInlineThresholds current;

    private volatile boolean isSettled;

    /** Whether a reply in version 2 was sent or received: both sides know the larger threshold (draft, 5.1). */
    private boolean isTwoAgreed;

    private Runnable listener;

    ConnectionProtocolVersions(PrivateData own, PrivateData peer, RpcRdmaConfig config) {
        boolean speaksTwo = config.versionTwo() != null;
        one = VersionInlineThresholds.one(own, peer, config);
        two = speaksTwo ? VersionInlineThresholds.two(own, peer) : null;
        current = one;
        isSettled = !speaksTwo;
    }

    /** Number of the settled version of outbound calls; 0 until settled. */
    int settled() {
        return isSettled ? current.number : 0;
    }

    boolean isSettled() {
        return isSettled;
    }

    /** The longest Send in any version. */
    int longestSend() {
        return two == null ? one.sendThreshold : Math.max(one.sendThreshold, two.sendThreshold);
    }

    /** The longest Send of the peer in any version. */
    int longestReceive() {
        return two == null
                ? one.receiveThreshold
                : Math.max(one.receiveThreshold, two.receiveThreshold);
    }

    int highest() {
        return two == null ? TransportHeader.VERSION_ONE : TransportHeader.VERSION_TWO;
    }

    /** Whether this side speaks the version. */
    boolean speaks(int version) {
        return version == TransportHeader.VERSION_ONE
                || (version == TransportHeader.VERSION_TWO && two != null);
    }

    /** Whether this side speaks any version of this range, unsigned and inclusive. */
    boolean speaksAny(int lowest, int highest) {
        return Integer.compareUnsigned(lowest, highest()) <= 0 && highest != 0;
    }

    /** A reply has the version of its call (draft, 5.3); the first one in version 2 is short. */
    VersionInlineThresholds ofReply(int version) {
        if (version == TransportHeader.VERSION_ONE) {
            return one;
        }
        return isTwoAgreed ? two : VersionInlineThresholds.probe();
    }

    /** Connecting side: proposes version 2; until {@link #settle}, calls are short and in version 2. */
    void proposeTwo() {
        current = VersionInlineThresholds.probe();
    }

    /** Connecting side: settles the version by the answer of the responder. */
    void settle(int version) {
        isTwoAgreed = version == TransportHeader.VERSION_TWO;
        current = isTwoAgreed ? two : one;
        isSettled = true;
    }

    /** A reply in this version was sent. */
    void replied(int version) {
        isTwoAgreed |= version == TransportHeader.VERSION_TWO;
    }

    /**
     * Accepting side: reverse calls use the version of the forward call answered last (RFC 8167, 5.1).
     *
     * @return action that waits for the first reply, to run after its write; {@code null} for none
     */
    Runnable follow(int version) {
        if (isSettled && version == current.number) {
            return null;
        }
        current = version == TransportHeader.VERSION_TWO ? two : one;
        isSettled = true;
        Runnable waiting = listener;
        listener = null;
        return waiting;
    }

    /** Accepting side: runs the action now, or when the first reply is sent if reverse calls have no version yet. */
    void whenSettled(Runnable action) {
        if (isSettled) {
            action.run();
        } else {
            listener = action;
        }
    }
}
