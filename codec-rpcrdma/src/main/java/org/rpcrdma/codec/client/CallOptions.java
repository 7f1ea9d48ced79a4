// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import org.rpcrdma.codec.ConnectionLostException;

/** Options of a single call of an {@link RpcRdmaClient}. Immutable. */
public final class CallOptions {

    /**
     * The client's time-out; sent again after connection loss; repeated after ERR_CHUNK if the upper-layer binding
     * calls the procedure idempotent.
     */
    public static final CallOptions DEFAULT = new CallOptions(0, true, Repetition.IF_IDEMPOTENT);

    /**
     * Whether a call is repeated as a new one after ERR_CHUNK: with more room for its reply, or, when there was room
     * for the longest one, once after a pause.
     */
    public enum Repetition {
        /** Fails instead. */
        NEVER,
        /** When the upper-layer binding says so. */
        IF_IDEMPOTENT,
        /** Whatever the procedure: for callers who know that it does no harm. */
        ALWAYS
    }

    private final long timeoutMillis;
    private final boolean retransmitted;
    private final Repetition repetition;

    private CallOptions(long timeoutMillis, boolean retransmitted, Repetition repetition) {
        this.timeoutMillis = timeoutMillis;
        this.retransmitted = retransmitted;
        this.repetition = repetition;
    }

    /**
     * Another time-out in milliseconds, from 1: from {@code call} to the reply, all retransmissions included.
     *
     * @param millis from 1
     * @return a copy that differs in this; this one is left alone
     */
    public CallOptions withTimeoutMillis(long millis) {
        if (millis < 1) {
            throw new IllegalArgumentException("timeoutMillis: " + millis + " (expected: from 1)");
        }
        return new CallOptions(millis, retransmitted, repetition);
    }

    /**
     * Whether the call is sent again, with the same XID, when its connection is lost before the reply. That is safe for
     * idempotent calls, and for all when the responder has a duplicate request cache.
     *
     * @param allowed {@code false} to fail it with {@link ConnectionLostException} then
     * @return a copy that differs in this; this one is left alone
     */
    public CallOptions withRetransmission(boolean allowed) {
        return new CallOptions(timeoutMillis, allowed, repetition);
    }

    /**
     * Whether the call is repeated after ERR_CHUNK: the responder may have executed it.
     *
     * @param allowed in which cases
     * @return a copy that differs in this; this one is left alone
     */
    public CallOptions withRepetition(Repetition allowed) {
        return new CallOptions(timeoutMillis, retransmitted, allowed);
    }

    /** {@return the time-out in milliseconds; 0 for the client's} */
    public long timeoutMillis() {
        return timeoutMillis;
    }

    /** {@return whether the call is sent again when its connection is lost} */
    public boolean isRetransmitted() {
        return retransmitted;
    }

    /**
     * {@return in which cases the call is repeated after ERR_CHUNK}
     */
    public Repetition repetition() {
        return repetition;
    }

    @Override
    public String toString() {
        return "CallOptions("
                + (timeoutMillis == 0 ? "the time-out of the client" : timeoutMillis + " ms")
                + (retransmitted ? ", retransmitted, repeated " : ", not retransmitted, repeated ")
                + repetition
                + ')';
    }
}
