// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;

/**
 * State machine of one long message of version 1 that may be a call of the peer or the reply to a call from here: only
 * its payload tells, so it is pulled first (RFC 8167, 4.1). Each event method returns the next state, upon which the
 * caller acts. Reused for later messages.
 *
 * <pre>
 * RECEIVED ── header ──► RECEIVED, REPLY, REFUSED
 * RECEIVED, WAITING ── memory ──► PULLING, WAITING, REPLY, REFUSED
 * WAITING ── the reply with its XID ──► CALL
 * PULLING ── Reads have ended ──► CALL, REPLY, LOST
 * </pre>
 *
 * <p>A message that cannot be pulled counts as a reply if a call with its XID is in flight, so that this call ends;
 * otherwise it is refused as a call.
 */
final class UnclassifiedLongMessageState {

    enum State {
        /** Header decoded; no state is kept yet. */
        RECEIVED,
        /** Waits for memory. */
        WAITING,
        /** Reads in flight. */
        PULLING,
        /** Call of the peer. Final. */
        CALL,
        /** Reply to an outbound call, pulled or not. Final. */
        REPLY,
        /** Answered with an error. Final. */
        REFUSED,
        /** A Read has failed, and the connection ends. Final. */
        LOST
    }

    /** Availability of memory for the pull. */
    enum Memory {
        TAKEN,
        /** Other messages will release memory. */
        LATER,
        /** Never. */
        NONE
    }

    private State state = State.RECEIVED;
    private CallOrReplyReadListPull pull;

    /** Begins with a message. */
    UnclassifiedLongMessageState begin(CallOrReplyReadListPull reads) {
        state = State.RECEIVED;
        pull = reads;
        return this;
    }

    State state() {
        return state;
    }

    /** Its Reads. */
    CallOrReplyReadListPull pull() {
        return pull;
    }

    /**
     * The header was validated as that of a call, which is the stricter validation.
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

    /** The reply to the call from here with this XID has come, and was another message. */
    State replyCame() {
        require(state == State.WAITING);
        return enter(State.CALL);
    }

    /**
     * All Reads have ended.
     *
     * @param messageType second word of the payload, if whole
     */
    State pulled(boolean isWhole, int messageType) {
        require(state == State.PULLING);
        if (!isWhole) {
            return enter(State.LOST);
        }
        return enter(messageType == OncRpcHeaderDecoder.REPLY ? State.REPLY : State.CALL);
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
