// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.codec.binding.MalformedXdrException;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.wire.RpcCallHeader;

/**
 * Which calls go out once more: with the same XID on another connection (RFC 8166, 4.5.5; RFC 8167, 5.4), or as a new
 * call with more room for the reply. Event loop only.
 */
final class Retransmission {

    /** The most doublings of the room for a reply. */
    private static final int MAX_DOUBLINGS = 16;

    private final CallSettings settings;
    private final RpcCallHeader rpc = new RpcCallHeader();
    private final XdrCursor arguments = new XdrCursor();

    /** What calls that were repeated offer for their replies at most, all together. */
    private long grownBytes;

    Retransmission(CallSettings settings) {
        this.settings = settings;
    }

    // ------------------------------------------------------------------ another connection

    /** Counts a connection that was lost, or could not be made, for a call that waits for the next one. */
    boolean survives(ClientCall<?> call) {
        return ++call.losses <= settings.maxRetransmissions();
    }

    ConnectionLostException lostOften(ClientCall<?> call, String why, Throwable cause) {
        return lost(call, why + ' ' + call.losses + " times", cause);
    }

    /** A call that was sent cannot be encoded for the next connection: nobody knows what has become of it. */
    ConnectionLostException notAgain(Exception problem) {
        return new ConnectionLostException(
                "the connection was lost, and the call cannot be made again", true, false, problem);
    }

    ConnectionLostException lost(ClientCall<?> call, String why, Throwable cause) {
        boolean isSent = call.wasSent || call.isInDoubt;
        return new ConnectionLostException(why, isSent, !isSent || isIdempotent(call), cause);
    }

    // ------------------------------------------------------------------ more room

    /** As a new call, because the responder may have this one in its duplicate request cache, ERR_CHUNK and all. */
    boolean mayGrow(ClientCall<?> call, RemoteChunkException refusal) {
        long grown = grownBytes - call.grownBytes + nextOffer(refusal);
        return refusal.mayGrow()
                && refusal.offered() < settings.maxReplyBytes()
                && call.growth < MAX_DOUBLINGS
                && grown <= settings.config().maxConnectionBytes()
                && switch (call.options.repetition()) {
                    case NEVER -> false;
                    case ALWAYS -> true;
                    case IF_IDEMPOTENT -> isIdempotent(call);
                };
    }

    /** The next attempt offers at most twice the room. */
    private long nextOffer(RemoteChunkException refusal) {
        return Math.min(2 * refusal.offered(), settings.maxReplyBytes());
    }

    void grow(ClientCall<?> call, RemoteChunkException refusal) {
        ended(call);
        call.growth++;
        call.growthMaximum = settings.maxReplyBytes();
        call.grownBytes = nextOffer(refusal);
        grownBytes += call.grownBytes;
    }

    /** A call needs no more room. */
    void ended(ClientCall<?> call) {
        grownBytes -= call.grownBytes;
        call.grownBytes = 0;
    }

    private boolean isIdempotent(ClientCall<?> call) {
        ByteBuf payload = call.payload();
        int start = payload.readerIndex();
        int end = payload.writerIndex();
        if (!rpc.decode(payload, start, end) || !rpc.isReductionAllowed()) {
            return false; // arguments that RPCSEC_GSS has wrapped are not where the binding looks
        }
        arguments.wrap(payload, start, rpc.argumentsIndex(), end, call.reduction());
        try {
            return settings.config()
                    .bindings()
                    .find(rpc.program(), rpc.version())
                    .isIdempotent(rpc.version(), rpc.procedure(), arguments);
        } catch (MalformedXdrException e) {
            return false;
        } finally {
            arguments.release();
        }
    }
}
