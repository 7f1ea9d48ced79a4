// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.codec.wire.ReadLayout;
import org.rpcrdma.codec.wire.ReadList;
import org.rpcrdma.codec.wire.RpcCallHeader;
import org.rpcrdma.codec.wire.TransportHeader;

/** Validates a decoded transport header before memory is allocated or anything is read or delivered. */
final class InboundChunkListValidator {

    private static final Refusal OTHER_XID = Refusal.chunkError("payload with another XID");

    private final ConnectionContext link;
    private final RpcRdmaConfig config;

    InboundChunkListValidator(ConnectionContext link) {
        this.link = link;
        config = link.config();
    }

    /**
     * What can be seen from the header of a call alone (RFC 8166, 4.5.2), or of what may be one.
     *
     * @param payload where it begins
     * @param layout is computed; {@code null} without Read chunks
     * @return why it is refused; {@code null} when it is not
     */
    Refusal call(ByteBuf message, TransportHeader header, int payload, ReadLayout layout) {
        boolean isNomsg = header.proc() == TransportHeader.RDMA_NOMSG;
        if (header.isPlain()) { // without lists there is nothing more to be wrong
            return header.payloadXid() == header.xid() ? null : OTHER_XID;
        }
        ReadList reads = header.reads();
        boolean hasPositionZero = reads.hasChunkAt(0);
        long stream = (long) message.writerIndex() - payload;
        if (isNomsg) {
            stream = reads.chunkLength(0);
            if ((stream & 3) != 0 || stream < RpcCallHeader.MINIMUM_CALL_BYTES) {
                return Refusal.chunkError("Position Zero Read chunk of " + stream + " bytes");
            }
        } else if (hasPositionZero) {
            return Refusal.chunkError("RDMA_MSG with a Position Zero Read chunk");
        } else if (message.getInt(payload) != header.xid()) {
            return OTHER_XID;
        }
        if (reads.anyWraps() || header.writes().anyWraps() || header.reply().anyWraps()) {
            return Refusal.chunkError("segment past the end of the address space");
        }
        if (header.reply().segments() > config.maxSegmentsPerChunk()) {
            return Refusal.chunkError("Reply chunk with too many segments");
        }
        for (int i = 0; i < header.writes().chunks(); i++) {
            if (header.writes().endSegment(i) - header.writes().firstSegment(i)
                    > config.maxSegmentsPerChunk()) {
                return Refusal.chunkError("Write chunk with too many segments");
            }
        }
        // The reply repeats these lists, and a header cannot be chunked (3.5.1).
        ProtocolVersion protocol = link.versions().ofReply(header.version());
        if (protocol.sendRoom(header.replyListsBytes()) < 0) {
            return Refusal.chunkError("chunk lists longer than the reply's inline threshold");
        }
        String problem = layout == null ? null : compute(layout, reads, stream);
        return problem == null ? null : Refusal.chunkError(problem);
    }

    private String compute(ReadLayout layout, ReadList reads, long stream) {
        return layout.compute(
                reads,
                stream,
                config.maxSegmentsPerChunk(),
                config.maxChunkBytes(),
                config.maxMessageBytes());
    }

    /**
     * The lists of a reply against what the call offered; never trusted.
     *
     * @param offered the lists of the call
     * @param layout is computed; {@code null} without Read chunks, or when these are not taken
     * @return what is wrong; {@code null} when nothing is
     */
    String reply(
            TransportHeader offered,
            ByteBuf message,
            TransportHeader header,
            int payload,
            ReadLayout layout) {
        if (header.isPlain() && offered.writes().chunks() == 0) {
            return header.payloadXid() == header.xid() ? null : OTHER_XID.problem();
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
            return placed < RpcCallHeader.MINIMUM_REPLY_BYTES
                    ? "Reply chunk with " + placed + " bytes"
                    : null;
        }
        if (placed != 0) {
            return "RDMA_MSG with a Reply chunk in use";
        }
        return message.getInt(payload) == header.xid() ? null : "payload with another XID";
    }

    /**
     * A reply that is all in the Reply chunk, results included, and leaves out the Write list, which it has to repeat
     * (RFC 8166, 3.4.6). NFS-Ganesha answers so; whoever reads the results sees whether they are all there.
     */
    private static boolean isWholeInReplyChunk(TransportHeader header) {
        return header.proc() == TransportHeader.RDMA_NOMSG
                && header.writes().chunks() == 0
                && header.reply().chunkLength() > 0;
    }

    /** A reply in Read chunks, before memory is taken or anything is read: as for a call. */
    private String pulled(ByteBuf message, TransportHeader header, int payload, ReadLayout layout) {
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
        if (stream < RpcCallHeader.MINIMUM_REPLY_BYTES) {
            return "reply of " + stream + " bytes in a Read chunk";
        }
        if (reads.anyWraps()) {
            return "segment past the end of the address space";
        }
        String problem = compute(layout, reads, stream);
        boolean isReduced = header.writes().sum(0, header.writes().segments()) > 0;
        // Positions count in the stream with all of its items, and only the stream can tell where
        // those in Write chunks are.
        return problem == null && isReduced && layout.chunks() > 0
                ? "results in Read chunks and in Write chunks"
                : problem;
    }
}
