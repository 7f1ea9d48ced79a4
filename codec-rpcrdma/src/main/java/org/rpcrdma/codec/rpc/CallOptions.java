// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import java.time.Duration;
import org.rpcrdma.codec.ConnectionLostException;
import org.rpcrdma.codec.internal.ArgumentChecks;

/** Options of a single call over an {@link RpcTransport}. Immutable. */
public final class CallOptions {

    /**
     * The client's time-out; retransmission after connection loss; repetition after ERR_CHUNK if the procedure is
     * idempotent by its upper-layer binding.
     */
    public static final CallOptions DEFAULT =
            new CallOptions(Duration.ZERO, true, Repetition.IF_IDEMPOTENT);

    /**
     * Whether to repeat a call with a new XID after ERR_CHUNK: with more memory for its reply, or, if the memory covers
     * the longest reply, once unchanged after a pause.
     */
    public enum Repetition {
        /** Never: the call fails. */
        NEVER,
        /** If the procedure is idempotent by its upper-layer binding. */
        IF_IDEMPOTENT,
        /** Always: for calls that the caller knows to be idempotent. */
        ALWAYS
    }

    private final Duration timeout;
    private final boolean retransmitted;
    private final Repetition repetition;

    private CallOptions(Duration timeout, boolean retransmitted, Repetition repetition) {
        this.timeout = timeout;
        this.retransmitted = retransmitted;
        this.repetition = repetition;
    }

    /**
     * Sets the time-out: from {@code call} to the reply, including all retransmissions.
     *
     * @param newTimeout 1 ms to 2^31 - 1 ms; fractions of a millisecond are cut off
     * @return a copy that differs in this; this one is left alone
     * @throws IllegalArgumentException if it is shorter or longer
     */
    public CallOptions withTimeout(Duration newTimeout) {
        ArgumentChecks.millis("timeout", newTimeout);
        return new CallOptions(newTimeout, retransmitted, repetition);
    }

    /**
     * Sets whether to retransmit the call, with the same XID, when its connection is lost before the reply. Safe for
     * idempotent calls, and for all calls if the responder has a duplicate request cache.
     *
     * @param allowed {@code false} to fail the call with {@link ConnectionLostException} instead
     * @return a copy that differs in this; this one is left alone
     */
    public CallOptions withRetransmission(boolean allowed) {
        return new CallOptions(timeout, allowed, repetition);
    }

    /**
     * Sets whether to repeat the call after ERR_CHUNK: the responder may have executed it.
     *
     * @param allowed in which cases
     * @return a copy that differs in this; this one is left alone
     */
    public CallOptions withRepetition(Repetition allowed) {
        return new CallOptions(timeout, retransmitted, allowed);
    }

    /** {@return the time-out; {@link Duration#ZERO} for that of the transport} */
    public Duration timeout() {
        return timeout;
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
                + (timeout.isZero() ? "the time-out of the client" : timeout.toMillis() + " ms")
                + (retransmitted ? ", retransmitted, repeated " : ", not retransmitted, repeated ")
                + repetition
                + ')';
    }
}
