// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.ReadList;
import org.rpcrdma.codec.wire.ReassembledPayloadStreamLayout;
import org.rpcrdma.codec.wire.TransportHeader;

/** Validates a decoded transport header before memory is allocated or anything is read or delivered. */
final class InboundChunkListValidator {

    private static final InboundMessageRefusal OTHER_XID =
            InboundMessageRefusal.chunkError("payload with another XID");

    private final ConnectionSharedState link;
    private final RpcRdmaConfig config;

    InboundChunkListValidator(ConnectionSharedState link) {
        this.link = link;
        config = link.config();
    }

    /**
     * Validates the header of a call (RFC 8166, 4.5.2), or of a message that may be a call.
     *
     * @param payload index of the payload
     * @param layout is computed; {@code null} without Read chunks
     * @return why it is refused; {@code null} when it is not
     */
    InboundMessageRefusal call(
            ByteBuf message,
            TransportHeader header,
            int payload,
            ReassembledPayloadStreamLayout layout) {
        boolean isNomsg = header.proc() == TransportHeader.RDMA_NOMSG;
        if (header.isPlain) { // no lists to validate
            return header.payloadXid == header.xid() ? null : OTHER_XID;
        }
        ReadList reads = header.reads();
        boolean hasPositionZero = reads.hasChunkAt(0);
        long stream = (long) message.writerIndex() - payload;
        if (isNomsg) {
            stream = reads.chunkLength(0);
            if ((stream & 3) != 0 || stream < OncRpcHeaderDecoder.MINIMUM_CALL_BYTES) {
                return InboundMessageRefusal.chunkError(
                        "Position Zero Read chunk of " + stream + " bytes");
            }
        } else if (hasPositionZero) {
            return InboundMessageRefusal.chunkError("RDMA_MSG with a Position Zero Read chunk");
        } else if (message.getInt(payload) != header.xid()) {
            return OTHER_XID;
        }
        if (reads.anyWraps() || header.writes().anyWraps() || header.reply().anyWraps()) {
            return InboundMessageRefusal.chunkError("segment past the end of the address space");
        }
        if (header.reply().segments() > config.maxSegmentsPerChunk()) {
            return InboundMessageRefusal.chunkError("Reply chunk with too many segments");
        }
        for (int i = 0; i < header.writes().chunks(); i++) {
            if (header.writes().endSegment(i) - header.writes().firstSegment(i)
                    > config.maxSegmentsPerChunk()) {
                return InboundMessageRefusal.chunkError("Write chunk with too many segments");
            }
        }
        // The reply repeats these lists, and a header cannot be chunked (3.5.1).
        VersionInlineThresholds protocol = link.versions.ofReply(header.version());
        if (protocol.sendRoom(header.replyListsBytes()) < 0) {
            return InboundMessageRefusal.chunkError(
                    "chunk lists longer than the reply's inline threshold");
        }
        String problem = layout == null ? null : compute(layout, reads, stream);
        return problem == null ? null : InboundMessageRefusal.chunkError(problem);
    }

    private String compute(ReassembledPayloadStreamLayout layout, ReadList reads, long stream) {
        return layout.compute(
                reads,
                stream,
                config.maxSegmentsPerChunk(),
                config.maxChunkBytes(),
                config.maxMessageBytes());
    }

    /**
     * Validates the lists of a reply against those that its call has offered.
     *
     * @param offered the lists of the call
     * @param layout computed here; {@code null} without Read chunks, or if these are not accepted
     * @return what is wrong; {@code null} when nothing is
     */
    String reply(
            TransportHeader offered,
            ByteBuf message,
            TransportHeader header,
            int payload,
            ReassembledPayloadStreamLayout layout) {
        if (header.isPlain && !offered.hasChunks()) {
            return header.payloadXid == header.xid() ? null : OTHER_XID.problem();
        }
        if (layout == null && header.reads().segments() > 0) {
            return "reply with a Read list";
        }
        boolean isWhole = layout == null && isWholeInReplyChunk(header);
        if (!isWhole && !header.writes().mirrors(offered.writes())) {
            return "reply whose Write list is not the one of the call";
        }
        if (header.reply().isPresent() && !header.reply().mirrors(offered.reply())) {
            return "reply whose Reply chunk is not the one of the call";
        }
        long placed = header.reply().chunkLength();
        if (layout != null) {
            return pulled(message, header, payload, layout);
        }
        if (header.proc() != TransportHeader.RDMA_MSG) {
            return placed < OncRpcHeaderDecoder.MINIMUM_REPLY_BYTES
                    ? "Reply chunk with " + placed + " bytes"
                    : null;
        }
        if (placed != 0) {
            return "RDMA_MSG with a Reply chunk in use";
        }
        return message.getInt(payload) == header.xid() ? null : "payload with another XID";
    }

    /**
     * Whether a reply has all results in the Reply chunk and omits the Write list, which it must repeat (RFC 8166,
     * 3.4.6). NFS-Ganesha does so; the decoding of the results shows whether they are complete.
     */
    private static boolean isWholeInReplyChunk(TransportHeader header) {
        return header.proc() == TransportHeader.RDMA_NOMSG
                && header.writes().chunks() == 0
                && header.reply().chunkLength() > 0;
    }

    /** Validates a reply in Read chunks like a call, before memory is allocated or an RDMA Read is posted. */
    private String pulled(
            ByteBuf message,
            TransportHeader header,
            int payload,
            ReassembledPayloadStreamLayout layout) {
        ReadList reads = header.reads();
        boolean isLong = header.proc() == TransportHeader.RDMA_NOMSG;
        long stream = isLong ? reads.chunkLength(0) : (long) message.writerIndex() - payload;
        if (header.reply().chunkLength() > 0) {
            return "reply in a Reply chunk and in Read chunks";
        }
        if (!isLong && reads.hasChunkAt(0)) {
            return "RDMA_MSG with a Position Zero Read chunk";
        }
        if (!isLong && message.getInt(payload) != header.xid()) {
            return "payload with another XID";
        }
        if (stream < OncRpcHeaderDecoder.MINIMUM_REPLY_BYTES) {
            return "reply of " + stream + " bytes in a Read chunk";
        }
        if (reads.anyWraps()) {
            return "segment past the end of the address space";
        }
        String problem = compute(layout, reads, stream);
        boolean isReduced = header.writes().sum(0, header.writes().segments()) > 0;
        // Positions count in the stream with all items; only the stream tells the positions of
        // items in Write chunks.
        return problem == null && isReduced && layout.chunks() > 0
                ? "results in Read chunks and in Write chunks"
                : problem;
    }
}
