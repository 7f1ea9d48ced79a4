// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import org.rpcrdma.codec.wire.ReadList;
import org.rpcrdma.codec.wire.SegmentList;
import org.rpcrdma.codec.wire.TransportHeader;
import org.rpcrdma.codec.wire.WriteList;

/** Computes the room that a call has in its Send, and what its reply needs of a Reply chunk (RFC 8166, 3.5 and 4.3). */
final class OutboundCallAndReplyRoomCalculator {

    /** A marker, a count and one segment. */
    private static final int CHUNK_BYTES = 8 + SegmentList.SEGMENT_BYTES;

    private final ConnectionSharedState link;
    private final RpcRdmaConfig config;

    /** Whether outbound calls may have chunks. */
    private final boolean mayHaveChunks;

    private final int maxMessageBytes;

    OutboundCallAndReplyRoomCalculator(ConnectionSharedState link) {
        this.link = link;
        config = link.config();
        mayHaveChunks = link.callsMayHaveChunks();
        maxMessageBytes = config.maxMessageBytes();
    }

    // ------------------------------------------------------------------ before it is sent

    /**
     * Bytes left for the payload stream in the Send of a call, given its planned chunk lists.
     *
     * @param reads the Read chunks
     */
    int inlineRoom(OutboundCallState call, int reads) {
        int lists = TransportHeader.EMPTY_LISTS_BYTES + ReadList.ENTRY_BYTES * reads;
        if (call.chunks.hasRoom) {
            lists += CHUNK_BYTES * call.chunks.sinks.count;
            lists +=
                    call.chunks.replyChunkBytes() > 0
                            ? CHUNK_BYTES - 4
                            : 0; // its marker is always present
        }
        VersionInlineThresholds protocol = call.protocol;
        return mayHaveChunks ? protocol.argumentsRoom(lists) : protocol.sendRoom(lists);
    }

    /** Whether all results are short enough to come inline. */
    static boolean areResultsShort(OutboundCallState call, long replyMaximum) {
        return replyMaximum <= call.protocol.plainResults;
    }

    /**
     * Bytes of the Reply chunk, needed if the longest reply with the lists that it repeats may not fit one Send (RFC
     * 8166, 4.3.3); 0 for none.
     *
     * @param isBounded whether the binding or the call bounds the reply
     * @throws CallTooLongException when no chunk may be that long
     */
    int replyChunkBytes(OutboundCallState call, boolean isBounded) throws CallTooLongException {
        int lists = TransportHeader.EMPTY_LISTS_BYTES + CHUNK_BYTES * call.chunks.sinks.count;
        long maximum = call.request.replyMaximum();
        if (maximum <= call.protocol.receiveRoom(lists) || !mayOfferReplyChunk(call, isBounded)) {
            return 0;
        }
        if (maximum > maxMessageBytes) {
            throw new CallTooLongException(
                    "a reply of up to " + maximum + " bytes is above maxMessageBytes");
        }
        return ((int) maximum + 3) & ~3;
    }

    /**
     * Whether to offer a Reply chunk: without it, a long reply can be pulled if the responder supports that (reliable
     * reply draft, 5.3.1).
     */
    private boolean mayOfferReplyChunk(OutboundCallState call, boolean isBounded) {
        if (!link.takesReadChunkReplies(call.protocol.number)) {
            return true;
        }
        return switch (link.readChunkReplies().replyChunks()) {
            case IF_NEEDED -> true;
            case IF_BOUNDED -> isBounded && call.request.replyMaximum() <= worthOffering(call);
            case NEVER -> false;
        };
    }

    /**
     * The longest reply for which an optional Reply chunk is offered: the share of one call in the connection's memory;
     * maxMessageBytes if the call is repeated with more memory.
     */
    private long worthOffering(OutboundCallState call) {
        return call.request.payload.parts.growth() > 0
                ? maxMessageBytes
                : Math.min(
                        maxMessageBytes, config.maxConnectionBytes() / config.requestedCredits());
    }

    /** Checks a planned call: whether it may be sent in the chosen form. */
    void check(OutboundCallState call) throws CallTooLongException {
        if (call.request.form != OutboundCallTransferForm.LONG) {
            return;
        }
        int bytes = call.request.payload.stream.readableBytes();
        if (!mayHaveChunks) {
            throw new CallTooLongException(
                    "a reverse call of "
                            + bytes
                            + " bytes does not fit inline (expected: a short one, unless both sides"
                            + " are configured for reverseChunks; RFC 8167, 5.3)");
        }
        checkLength(bytes);
    }

    /** Checks the length of a whole call. */
    void checkLength(long bytes) throws CallTooLongException {
        if (bytes > maxMessageBytes) {
            throw new CallTooLongException(
                    "a call of " + bytes + " bytes is above maxMessageBytes");
        }
    }

    // ------------------------------------------------------------------ after it was refused

    /** Whether repeating a refused call with more memory for its reply is possible and could succeed. */
    boolean mayGrow(OutboundCallState call) {
        if (coversReply(call)) {
            return false;
        }
        int threshold = call.protocol.receiveThreshold;
        return (!neverOffersReplyChunk(call)
                        && Math.max(call.request.replyMaximum(), threshold) < maxMessageBytes)
                || hasGrowingSink(call, config.maxChunkBytes());
    }

    /** Whether the call has offered memory for the longest reply by its binding. */
    boolean coversReply(OutboundCallState call) {
        WriteList writes = call.header.writes();
        long offered =
                writes.sum(0, writes.segments())
                        + Math.max(
                                call.protocol.receiveThreshold, call.header.reply().chunkLength());
        // The limit includes the round-up of each result.
        long limit = call.request.replyLimit();
        return limit > 0 && offered + 3L * writes.chunks() >= limit;
    }

    /** Sinks of the user do not grow. */
    private static boolean hasGrowingSink(OutboundCallState call, int maximum) {
        WriteChunkSinks sinks = call.chunks.sinks;
        for (int i = 0; i < sinks.count; i++) {
            if (call.request.payload.parts.sinks() == 0 && sinks.length(i) < maximum) {
                return true;
            }
        }
        return false;
    }

    private boolean neverOffersReplyChunk(OutboundCallState call) {
        return link.takesReadChunkReplies(call.protocol.number)
                && link.readChunkReplies().replyChunks() == ReadChunkReplyConfig.ReplyChunks.NEVER;
    }
}
