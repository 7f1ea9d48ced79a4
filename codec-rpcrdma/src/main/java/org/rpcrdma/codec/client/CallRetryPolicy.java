// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import org.rpcrdma.codec.ConnectionLostException;
import org.rpcrdma.codec.ErrChunkReplyException;
import org.rpcrdma.codec.access.CodecAccess;

/**
 * Decides which calls are retransmitted with the same XID on another connection (RFC 8166, 4.5.5; RFC 8167, 5.4), and
 * which are repeated as new calls after ERR_CHUNK. Event loop only.
 */
final class CallRetryPolicy {

    /** The most doublings of the memory for a reply. */
    private static final int MAX_DOUBLINGS = 16;

    private final DefaultCallSettings settings;
    private final CodecAccess.IdempotenceLookup lookup = CodecAccess.CODEC.newIdempotenceLookup();

    /** The most bytes that all repeated calls together offer for their replies. */
    private long grownBytes;

    CallRetryPolicy(DefaultCallSettings settings) {
        this.settings = settings;
    }

    // ------------------------------------------------------------------ another connection

    /** Counts a lost connection or a failed connection attempt for a waiting call. */
    void recordLoss(CallWithReplyFuture<?> call) {
        call.losses++;
    }

    /** Whether the call may wait for another connection. */
    boolean mayRetransmit(CallWithReplyFuture<?> call) {
        return call.losses <= settings.maxRetransmissions();
    }

    ConnectionLostException lostOften(CallWithReplyFuture<?> call, String why, Throwable cause) {
        return lost(call, why + ' ' + call.losses + " times", cause);
    }

    /**
     * Failure of a call that cannot be sent. If an earlier transmission may have reached the responder, the failure
     * says so: otherwise a caller would repeat the call and have it executed twice.
     */
    Throwable notSent(CallWithReplyFuture<?> call, Throwable problem) {
        if (call.refusal != null) {
            call.refusal.addSuppressed(problem);
            return call.refusal;
        }
        return call.wasSent
                ? CodecAccess.CODEC.connectionLost(
                        "the connection was lost, and the call cannot be sent again",
                        true,
                        false,
                        problem)
                : problem;
    }

    ConnectionLostException lost(CallWithReplyFuture<?> call, String why, Throwable cause) {
        boolean isSent = call.wasSent || call.isInDoubt;
        return CodecAccess.CODEC.connectionLost(
                why, isSent, !isSent || evaluateIdempotence(call), cause);
    }

    // ------------------------------------------------------------------ more room

    /**
     * Whether to repeat a call with more memory: with a new XID, because the responder's duplicate request cache may
     * hold the failure.
     */
    boolean mayGrow(CallWithReplyFuture<?> call, ErrChunkReplyException refusal) {
        long grown = grownBytes - call.grownBytes + nextOffer(refusal);
        return CodecAccess.CODEC.mayGrow(refusal)
                && refusal.offered() < settings.maxReplyBytes()
                && call.growth < MAX_DOUBLINGS
                && grown <= settings.config().maxConnectionBytes()
                && isRepeatable(call);
    }

    /**
     * Whether to repeat a call once, unchanged: if its memory covers the reply, the responder may have lacked memory.
     */
    boolean mayRepeat(CallWithReplyFuture<?> call, ErrChunkReplyException refusal) {
        return CodecAccess.CODEC.coversReply(refusal) && !call.isRepeated && isRepeatable(call);
    }

    private boolean isRepeatable(CallWithReplyFuture<?> call) {
        return switch (call.options.repetition()) {
            case NEVER -> false;
            case ALWAYS -> true;
            case IF_IDEMPOTENT -> evaluateIdempotence(call);
        };
    }

    /** Bytes that the next attempt offers, at most twice the current offer. */
    private long nextOffer(ErrChunkReplyException refusal) {
        return Math.min(2 * refusal.offered(), settings.maxReplyBytes());
    }

    void grow(CallWithReplyFuture<?> call, ErrChunkReplyException refusal) {
        ended(call);
        call.repeatWithMoreMemory(refusal, settings.maxReplyBytes(), nextOffer(refusal));
        grownBytes += call.grownBytes;
    }

    /** A call has ended: its memory no longer counts. */
    void ended(CallWithReplyFuture<?> call) {
        grownBytes -= call.grownBytes;
        call.clearGrownBytes();
    }

    private boolean evaluateIdempotence(CallWithReplyFuture<?> call) {
        return lookup.evaluate(call.message(), settings.config());
    }
}
