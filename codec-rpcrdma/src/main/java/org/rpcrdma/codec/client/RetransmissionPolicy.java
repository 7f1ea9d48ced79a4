// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import org.rpcrdma.codec.ConnectionLostException;
import org.rpcrdma.codec.InternalCodec;
import org.rpcrdma.codec.RemoteChunkException;

/**
 * Selects the calls that are sent again: with the same XID on another connection (RFC 8166, 4.5.5; RFC 8167, 5.4), or
 * as a new call with more room for the reply. Event loop only.
 */
final class RetransmissionPolicy {

    /** The most doublings of the room for a reply. */
    private static final int MAX_DOUBLINGS = 16;

    private final DefaultCallSettings settings;
    private final InternalCodec.IdempotenceLookup lookup = new InternalCodec.IdempotenceLookup();

    /** What calls that were repeated offer for their replies at most, all together. */
    private long grownBytes;

    RetransmissionPolicy(DefaultCallSettings settings) {
        this.settings = settings;
    }

    // ------------------------------------------------------------------ another connection

    /**
     * Counts a connection that was lost, or could not be made, for a call that waits for the next one.
     *
     * @return whether the call may wait for another one
     */
    boolean recordLoss(CallReplyFuture<?> call) {
        return ++call.losses <= settings.maxRetransmissions();
    }

    ConnectionLostException lostOften(CallReplyFuture<?> call, String why, Throwable cause) {
        return lost(call, why + ' ' + call.losses + " times", cause);
    }

    /**
     * How a call ends that cannot be sent for a reason of its own. What the responder has of it from before counts
     * more: whoever repeats a call that seems not to be sent executes it twice.
     */
    Throwable notSent(CallReplyFuture<?> call, Throwable problem) {
        if (call.refusal != null) {
            call.refusal.addSuppressed(problem);
            return call.refusal;
        }
        return call.wasSent
                ? InternalCodec.connectionLost(
                        "the connection was lost, and the call cannot be sent again",
                        true,
                        false,
                        problem)
                : problem;
    }

    ConnectionLostException lost(CallReplyFuture<?> call, String why, Throwable cause) {
        boolean isSent = call.wasSent || call.isInDoubt;
        return InternalCodec.connectionLost(why, isSent, !isSent || isIdempotent(call), cause);
    }

    // ------------------------------------------------------------------ more room

    /** As a new call, because the responder may have this one in its duplicate request cache, ERR_CHUNK and all. */
    boolean mayGrow(CallReplyFuture<?> call, RemoteChunkException refusal) {
        long grown = grownBytes - call.grownBytes + nextOffer(refusal);
        return InternalCodec.mayGrow(refusal)
                && refusal.offered() < settings.maxReplyBytes()
                && call.growth < MAX_DOUBLINGS
                && grown <= settings.config().maxConnectionBytes()
                && isRepeatable(call);
    }

    /** Once, as it was: where the room for the reply is not the reason, the responder may have had no memory. */
    boolean mayRepeat(CallReplyFuture<?> call, RemoteChunkException refusal) {
        return InternalCodec.coversReply(refusal) && !call.isRepeated && isRepeatable(call);
    }

    private boolean isRepeatable(CallReplyFuture<?> call) {
        return switch (call.options.repetition()) {
            case NEVER -> false;
            case ALWAYS -> true;
            case IF_IDEMPOTENT -> isIdempotent(call);
        };
    }

    /** The next attempt offers at most twice the room. */
    private long nextOffer(RemoteChunkException refusal) {
        return Math.min(2 * refusal.offered(), settings.maxReplyBytes());
    }

    void grow(CallReplyFuture<?> call, RemoteChunkException refusal) {
        ended(call);
        call.wasSent = true;
        call.refusal = refusal;
        call.growth++;
        call.growthMaximum = settings.maxReplyBytes();
        call.grownBytes = nextOffer(refusal);
        grownBytes += call.grownBytes;
    }

    /** A call needs no more room. */
    void ended(CallReplyFuture<?> call) {
        grownBytes -= call.grownBytes;
        call.grownBytes = 0;
    }

    private boolean isIdempotent(CallReplyFuture<?> call) {
        return lookup.isIdempotent(call.message(), settings.config());
    }
}
