// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import org.rpcrdma.codec.wire.ReadList;
import org.rpcrdma.codec.wire.SegmentList;
import org.rpcrdma.codec.wire.TransportHeader;
import org.rpcrdma.codec.wire.WriteList;

/** Computes whether a call fits one Send, and whether its reply needs a Reply chunk (RFC 8166, 4.3). */
final class OutboundCallSizes {

    /** A marker, a count and one segment. */
    private static final int CHUNK_BYTES = 8 + SegmentList.SEGMENT_BYTES;

    private OutboundCallSizes() {}

    /** Whether the call goes in one Send, with its items reduced and so much inline. */
    static boolean fitsInline(OutboundCall call, long payload) {
        int lists =
                TransportHeader.EMPTY_LISTS_BYTES
                        + ReadList.ENTRY_BYTES * call.payload.items().count()
                        + CHUNK_BYTES * call.sinks.count()
                        + (needsReplyChunk(call) ? CHUNK_BYTES - 4 : 0); // it has a marker anyway
        return payload
                <= (call.link().callsMayHaveChunks()
                        ? call.protocol.argumentsRoom(lists)
                        : call.protocol.sendRoom(lists));
    }

    /** Whether all results may as well come inline, because they cannot be long. */
    static boolean areResultsShort(OutboundCall call) {
        return call.replyMaximum <= call.protocol.resultsRoom(TransportHeader.EMPTY_LISTS_BYTES);
    }

    /** Whether the longest reply fits one Send, with the lists that it repeats. */
    private static boolean replyFitsInline(OutboundCall call) {
        int lists = TransportHeader.EMPTY_LISTS_BYTES + CHUNK_BYTES * call.sinks.count();
        return call.replyMaximum <= call.protocol.receiveRoom(lists);
    }

    /** Whether a Reply chunk is offered, because the longest reply may not fit (RFC 8166, 4.3.3). */
    static boolean needsReplyChunk(OutboundCall call) {
        return !replyFitsInline(call) && mayOfferReplyChunk(call);
    }

    /** What does not come inline can be pulled, if the responder can do that (reliable reply draft, 5.3.1). */
    private static boolean mayOfferReplyChunk(OutboundCall call) {
        ConnectionContext link = call.link();
        if (!link.takesReadChunkReplies(call.protocol.number())) {
            return true;
        }
        return switch (link.readChunkReplies().replyChunks()) {
            case IF_NEEDED -> true;
            case IF_BOUNDED -> call.isReplyBounded && call.replyMaximum <= worthOffering(call);
            case NEVER -> false;
        };
    }

    /**
     * The longest reply that a Reply chunk is offered for where none has to be: what has as much memory of the
     * connection as each call may take, unless a pull has failed before.
     */
    private static long worthOffering(OutboundCall call) {
        RpcRdmaConfig config = call.link().config();
        return call.payload.parts().growth() > 0
                ? config.maxMessageBytes()
                : Math.min(
                        config.maxMessageBytes(),
                        config.maxConnectionBytes() / config.requestedCredits());
    }

    /** Whether another attempt could offer more room than this one, which was refused, and that could help. */
    static boolean mayGrow(OutboundCall call) {
        if (coversReply(call)) {
            return false;
        }
        int threshold = call.protocol.receiveThreshold();
        RpcRdmaConfig config = call.link().config();
        return (!neverOffersReplyChunk(call)
                        && Math.max(call.replyMaximum, threshold) < config.maxMessageBytes())
                || hasGrowingSink(call, config.maxChunkBytes());
    }

    /** Whether the call has offered room for the longest reply that its binding knows. */
    static boolean coversReply(OutboundCall call) {
        WriteList writes = call.header.writes();
        long offered =
                writes.sum(0, writes.segments())
                        + Math.max(
                                call.protocol.receiveThreshold(),
                                call.header.reply().chunkLength());
        // The limit is with the round-up of each result.
        return call.replyLimit > 0 && offered + 3L * writes.chunks() >= call.replyLimit;
    }

    /** Those of the user have the size that they have. */
    private static boolean hasGrowingSink(OutboundCall call, int maximum) {
        for (int i = 0; i < call.sinks.count(); i++) {
            if (call.payload.parts().sinks() == 0 && call.sinks.length(i) < maximum) {
                return true;
            }
        }
        return false;
    }

    private static boolean neverOffersReplyChunk(OutboundCall call) {
        ConnectionContext link = call.link();
        return link.takesReadChunkReplies(call.protocol.number())
                && link.readChunkReplies().replyChunks() == ReadChunkReplies.ReplyChunks.NEVER;
    }
}
