// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import org.rpcrdma.codec.wire.RpcCallHeader;

/**
 * State machine of one long message of version 1 that may be a call of the peer or the reply to a call from here: only
 * its payload tells, so it is pulled first (RFC 8167, 4.1). An event gives the next state; whoever tells the event
 * acts on it. Used again for later messages.
 *
 * <pre>
 * RECEIVED ── header ──► RECEIVED, REPLY, REFUSED
 * RECEIVED, WAITING ── memory ──► PULLING, WAITING, REPLY, REFUSED
 * PULLING ── Reads have ended ──► CALL, REPLY, LOST
 * </pre>
 *
 * <p>Without its payload it is the reply, when one is awaited under its XID, so that the awaited call ends; otherwise
 * it is refused as a call.
 */
final class UnclassifiedMessage {

    enum State {
        /** Its header is decoded; nothing is kept of it. */
        RECEIVED,
        /** There is no memory for it at this moment. */
        WAITING,
        /** Its Reads are in flight. */
        PULLING,
        /** It is a call of the peer. Final. */
        CALL,
        /** It is the reply to a call from here, pulled or not. Final. */
        REPLY,
        /** It is answered with an error. Final. */
        REFUSED,
        /** A Read has failed, and the connection ends. Final. */
        LOST
    }

    /** Memory for the pull. */
    enum Memory {
        TAKEN,
        /** Others have it, and give it back. */
        LATER,
        /** There will be none. */
        NONE
    }

    private State state = State.RECEIVED;
    private InboundReadListPull pull;

    /** Begins with a message. */
    UnclassifiedMessage begin(InboundReadListPull reads) {
        state = State.RECEIVED;
        pull = reads;
        return this;
    }

    State state() {
        return state;
    }

    /** Its Reads. */
    InboundReadListPull pull() {
        return pull;
    }

    /**
     * The header was checked as that of a call, which is the stricter check.
     *
     * @param isReplyAwaited whether a call from here waits under this XID
     */
    State headerChecked(boolean isValid, boolean isReplyAwaited) {
        require(state == State.RECEIVED);
        return isValid ? state : enter(unpulled(isReplyAwaited));
    }

    /**
     * Memory was asked for.
     *
     * @param isReplyAwaited whether a call from here waits under this XID, now
     */
    State memoryAsked(Memory memory, boolean isReplyAwaited) {
        require(state == State.RECEIVED || state == State.WAITING);
        return enter(
                switch (memory) {
                    case TAKEN -> State.PULLING;
                    case LATER -> State.WAITING;
                    case NONE -> unpulled(isReplyAwaited);
                });
    }

    /**
     * All Reads have ended.
     *
     * @param messageType second word of the payload, when it is whole
     */
    State pulled(boolean isWhole, int messageType) {
        require(state == State.PULLING);
        if (!isWhole) {
            return enter(State.LOST);
        }
        return enter(messageType == RpcCallHeader.REPLY ? State.REPLY : State.CALL);
    }

    private static State unpulled(boolean isReplyAwaited) {
        return isReplyAwaited ? State.REPLY : State.REFUSED;
    }

    private State enter(State next) {
        state = next;
        return next;
    }

    private void require(boolean isPossible) {
        if (!isPossible) {
            throw new IllegalStateException("event in " + state);
        }
    }
}
