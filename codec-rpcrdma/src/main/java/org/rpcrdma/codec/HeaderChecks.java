// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;

/** What is wrong with a header whose lists decode: found before memory is taken or anything is read or delivered. */
final class HeaderChecks {

    private HeaderChecks() {}

    /** What can be seen from the header alone, before memory is taken or anything is read (RFC 8166, 4.5.2). */
    static String call(RpcRdmaExchange call, ByteBuf message, TransportHeader header, int payload) {
        ReadList reads = header.reads();
        boolean hasPositionZero = reads.hasChunkAt(0);
        long stream = (long) message.writerIndex() - payload;
        if (header.proc() == TransportHeader.RDMA_NOMSG) {
            stream = reads.chunkLength(0);
            if ((stream & 3) != 0 || stream < RpcCallHeader.MINIMUM_CALL_BYTES) {
                return "Position Zero Read chunk of " + stream + " bytes";
            }
        } else if (hasPositionZero) {
            return "RDMA_MSG with a Position Zero Read chunk";
        } else if (message.getInt(payload) != header.xid()) {
            return "payload with another XID";
        }
        if (reads.anyWraps() || header.writes().anyWraps() || header.reply().anyWraps()) {
            return "segment past the end of the address space";
        }
        RpcRdmaConfig config = call.connection.config();
        if (header.reply().segments() > config.maxSegmentsPerChunk()) {
            return "Reply chunk with too many segments";
        }
        for (int i = 0; i < header.writes().chunks(); i++) {
            if (header.writes().endSegment(i) - header.writes().firstSegment(i)
                    > config.maxSegmentsPerChunk()) {
                return "Write chunk with too many segments";
            }
        }
        // The reply repeats these lists, and a header cannot be chunked (3.5.1).
        if (call.protocol.listsOffset()
                        + 4
                        + header.writes().encodedBytes()
                        + header.reply().encodedBytes()
                > call.protocol.sendThreshold()) {
            return "chunk lists longer than the reply's inline threshold";
        }
        if (reads.segments() == 0) {
            return null;
        }
        return call.layout.compute(
                reads,
                stream,
                config.maxSegmentsPerChunk(),
                config.maxChunkBytes(),
                config.maxMessageBytes());
    }

    /** Send With Invalidate is for calls with exactly one handle: with several the requester has to do it anyway. */
    static void findInvalidateHandle(RpcRdmaExchange call, TransportHeader header) {
        call.mayInvalidate =
                call.connection.peerTakesInvalidate()
                        && singleHandle(header.reads(), call, false)
                        && singleHandle(header.writes(), call, header.reads().segments() > 0)
                        && singleHandle(
                                header.reply(),
                                call,
                                header.reads().segments() + header.writes().segments() > 0)
                        && header.reads().segments()
                                        + header.writes().segments()
                                        + header.reply().segments()
                                > 0;
    }

    private static boolean singleHandle(SegmentList list, RpcRdmaExchange call, boolean isKnown) {
        boolean known = isKnown;
        for (int i = 0; i < list.segments(); i++) {
            if (known && list.handle(i) != call.invalidateHandle) {
                return false;
            }
            call.invalidateHandle = list.handle(i);
            known = true;
        }
        return true;
    }

    /** Why a reply is not one to this call; {@code null} when it is. */
    static String match(RpcRdmaExchange call, TransportHeader header) {
        if (call.option != null) {
            return "RPC reply to an optional operation";
        }
        return header.version() == call.protocol.number()
                ? null
                : "reply in version " + header.version() + " (expected: that of the call)";
    }

    /** The lists of a reply against what the call offered; never trusted. */
    static String reply(
            RpcRdmaExchange call,
            ByteBuf message,
            TransportHeader header,
            int payload,
            boolean isLong) {
        boolean isOffered = header.reads().segments() > 0;
        if (isOffered && !call.connection.takesReadChunkReplies(header.version())) {
            return "reply with a Read list";
        }
        if (!header.writes().mirrors(call.header.writes())) {
            return "reply whose Write list is not the one of the call";
        }
        if (header.reply().isPresent() && !header.reply().mirrors(call.header.reply())) {
            return "reply whose Reply chunk is not the one of the call";
        }
        long placed = header.reply().chunkLength();
        if (isOffered) {
            return offered(call, message, header, payload, isLong);
        }
        if (isLong) {
            return placed < RpcCallHeader.MINIMUM_REPLY_BYTES
                    ? "Reply chunk with " + placed + " bytes"
                    : null;
        }
        if (placed != 0) {
            return "RDMA_MSG with a Reply chunk in use";
        }
        return message.getInt(payload) == header.xid() ? null : "payload with another XID";
    }

    /** A reply in Read chunks, before memory is taken or anything is read: as for a call. */
    private static String offered(
            RpcRdmaExchange call,
            ByteBuf message,
            TransportHeader header,
            int payload,
            boolean isLong) {
        ReadList reads = header.reads();
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
        RpcRdmaConfig config = call.connection.config();
        String problem =
                call.layout.compute(
                        reads,
                        stream,
                        config.maxSegmentsPerChunk(),
                        config.maxChunkBytes(),
                        config.maxMessageBytes());
        boolean isReduced = header.writes().sum(0, header.writes().segments()) > 0;
        // Positions count in the stream with all of its items: where those in Write chunks are,
        // only
        // the stream can tell.
        return problem == null && isReduced && call.layout.chunks() > 0
                ? "results in Read chunks and in Write chunks"
                : problem;
    }
}
