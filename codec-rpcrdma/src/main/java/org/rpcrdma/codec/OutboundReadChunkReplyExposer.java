// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.codec.wire.ReadList;

/**
 * Offers the payload stream of a reply as a Position Zero Read chunk, remote-read only and exactly bounded
 * (draft-cel-nfsv4-rpcrdma-reliable-reply-04, 4.1). The stream is not copied if it has few pieces, all accessible to
 * the device; otherwise it is copied into one.
 */
final class OutboundReadChunkReplyExposer {

    /** More segments cost more than a copy: each costs a registration, an RDMA Read and a check at the peer. */
    private static final int MOST_PIECES = 8;

    private final ConnectionSharedState link;
    private final ResponderState responder;
    private final OutboundReducedStreamPieceIterator stream =
            new OutboundReducedStreamPieceIterator();
    private boolean isLacking;

    OutboundReadChunkReplyExposer(ConnectionSharedState link, ResponderState responder) {
        this.link = link;
        this.responder = responder;
    }

    /**
     * Adds the chunk to the Read list of the reply, which then waits for its pull completion.
     *
     * @param length bytes of the stream
     * @param room bytes available for the Read list
     * @return {@code null} on success; otherwise the reason, and no memory is exposed
     * @see #lacksMemory
     */
    String expose(InboundCallState call, int length, int room) {
        isLacking = false;
        if (room < ReadList.ENTRY_BYTES) {
            return "no room for a Read list";
        }
        OutboundRepliesAwaitingPullCompletion waiting = responder.waiting();
        boolean hasReceive =
                link.readChunkReplies().areAnnounced()
                        || responder.grants().tryReserveReceives(waiting.count() + 1);
        if (!waiting.hasRoom(length) || !hasReceive) {
            return waiting.count()
                    + " replies of "
                    + waiting.bytes()
                    + " bytes wait for their pull completion";
        }
        ExposedReadChunkReply exposed = waiting.prepare(call.xid);
        try {
            if (isInPlace(call.reply.payload, Math.min(MOST_PIECES, room / ReadList.ENTRY_BYTES))) {
                stream.of(call.reply.payload);
                while (stream.advance(Integer.MAX_VALUE)) {
                    LeadingContiguousBufferPiece piece = stream.piece();
                    expose(
                            call,
                            exposed,
                            piece.memory(),
                            call.reply.payload.stream.retain(),
                            piece.index(),
                            piece.length());
                }
            } else {
                ByteBuf copy = copy(call.reply.payload, length);
                expose(call, exposed, copy, copy, 0, length);
            }
        } catch (Throwable t) {
            waiting.abandon(exposed);
            call.chunks.header.reads().clear();
            return "no memory can be exposed: " + t.getMessage();
        }
        waiting.add(exposed);
        return null;
    }

    /** Whether the last reply was not exposed for lack of memory for a copy. */
    boolean lacksMemory() {
        return isLacking;
    }

    private boolean isInPlace(OutboundPayloadStreamWithItems reply, int most) {
        stream.of(reply);
        for (int pieces = 0; stream.advance(Integer.MAX_VALUE); pieces++) {
            LeadingContiguousBufferPiece piece = stream.piece();
            if (pieces == most
                    || !link.internals.exposesInPlace(
                            piece.memory(), piece.index(), piece.length())) {
                return false;
            }
        }
        return true;
    }

    private ByteBuf copy(OutboundPayloadStreamWithItems reply, int length) {
        isLacking = length <= RdmaChannel.registeredBytesLimit();
        ByteBuf copy = link.buffer(length);
        isLacking = false;
        try {
            stream.of(reply);
            while (stream.advance(Integer.MAX_VALUE)) {
                LeadingContiguousBufferPiece piece = stream.piece();
                copy.writeBytes(piece.memory(), piece.index(), piece.length());
            }
        } catch (Throwable t) {
            copy.release(); // the user's memory was released, for example
            throw t;
        }
        link.metrics.add(RpcRdmaRole.RESPONDER, RpcRdmaCounter.COPIED_BYTES, length);
        return copy;
    }

    /** Takes over the reference, also on failure. */
    private void expose(
            InboundCallState call,
            ExposedReadChunkReply exposed,
            ByteBuf memory,
            ByteBuf reference,
            int index,
            int length) {
        RdmaChannel channel = link.channel;
        int handle;
        try {
            handle = link.expose(memory, index, length, RemoteAccess.READ);
        } catch (Throwable t) {
            reference.release();
            throw t;
        }
        exposed.add(handle, reference, length);
        call.chunks.header.reads().add(0, handle, length, channel.exposedOffset(handle));
    }
}
