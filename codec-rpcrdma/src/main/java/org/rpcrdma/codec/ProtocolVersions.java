// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Versions of the protocol that one connection speaks, and the version that its calls are sent in
 * (draft-cel-nfsv4-rpcrdma-version-two-01, 5). Changed on the event loop; {@link #settled} and {@link #current} are
 * for any thread.
 */
final class ProtocolVersions {

    private final ProtocolVersion one;

    /** {@code null} when version 2 is not spoken here. */
    private final ProtocolVersion two;

    private volatile ProtocolVersion current;
    private volatile boolean isSettled;

    /** A reply in version 2 has gone either way: both sides know of the larger threshold (draft, 5.1). */
    private boolean isTwoAgreed;

    private Runnable listener;

    ProtocolVersions(PrivateData own, PrivateData peer, RpcRdmaConfig config) {
        boolean speaksTwo = config.versionTwo() != null;
        one = ProtocolVersion.one(own, peer, config);
        two = speaksTwo ? ProtocolVersion.two(own, peer) : null;
        current = one;
        isSettled = !speaksTwo;
    }

    /** What own calls are sent in now. */
    ProtocolVersion current() {
        return current;
    }

    /** The number of the version that own calls are sent in from now on; 0 while that is not known. */
    int settled() {
        return isSettled ? current.number() : 0;
    }

    boolean isSettled() {
        return isSettled;
    }

    /** The longest Send in any version. */
    int longestSend() {
        return two == null
                ? one.sendThreshold()
                : Math.max(one.sendThreshold(), two.sendThreshold());
    }

    /** The longest Send of the peer in any version. */
    int longestReceive() {
        return two == null
                ? one.receiveThreshold()
                : Math.max(one.receiveThreshold(), two.receiveThreshold());
    }

    int highest() {
        return two == null ? TransportHeader.VERSION_ONE : TransportHeader.VERSION_TWO;
    }

    /** Whether messages of this version are understood. */
    boolean speaks(int version) {
        return version == TransportHeader.VERSION_ONE
                || (version == TransportHeader.VERSION_TWO && two != null);
    }

    /** Whether any version of this range, unsigned and with both ends, is spoken here. */
    boolean speaksAny(int lowest, int highest) {
        return Integer.compareUnsigned(lowest, highest()) <= 0 && highest != 0;
    }

    /** A reply has the version of its call (draft, 5.3); the first one in version 2 is short. */
    ProtocolVersion ofReply(int version) {
        if (version == TransportHeader.VERSION_ONE) {
            return one;
        }
        return isTwoAgreed ? two : ProtocolVersion.probe();
    }

    /** Connecting side: from now on calls are short and in version 2, until {@link #settle}. */
    void proposeTwo() {
        current = ProtocolVersion.probe();
    }

    /** Connecting side: the responder has shown what it speaks. */
    void settle(int version) {
        isTwoAgreed = version == TransportHeader.VERSION_TWO;
        current = isTwoAgreed ? two : one;
        isSettled = true;
    }

    /** A reply has gone out in this version. */
    void replied(int version) {
        isTwoAgreed |= version == TransportHeader.VERSION_TWO;
    }

    /**
     * Accepting side: reverse calls have the version of the forward call that was answered last (RFC 8167, 5.1).
     *
     * @return what waits for the first of them, to be run behind the reply; {@code null} for nothing
     */
    Runnable follow(int version) {
        if (isSettled && version == current.number()) {
            return null;
        }
        current = version == TransportHeader.VERSION_TWO ? two : one;
        isSettled = true;
        Runnable waiting = listener;
        listener = null;
        return waiting;
    }

    /** Accepting side: runs the action when own calls may be sent, which is now or when the first reply goes out. */
    void whenSettled(Runnable action) {
        if (isSettled) {
            action.run();
        } else {
            listener = action;
        }
    }
}
