// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import org.rpcrdma.channel.RdmaWrite;
import org.rpcrdma.codec.wire.ReplyChunk;
import org.rpcrdma.codec.wire.WriteList;

/**
 * Writes results into the chunks of the requester: Write chunks first, then the Reply chunk. The Send that follows
 * makes the data visible (RFC 8166, 3.4.6).
 */
final class OutboundReplyRdmaWriter {

    private final ConnectionSharedState link;
    private final ResponderState responder;

    OutboundReplyRdmaWriter(ConnectionSharedState link, ResponderState responder) {
        this.link = link;
        this.responder = responder;
    }

    /**
     * Writes the items into their Write chunks and, in the form {@link OutboundReplyTransferForm#REPLY_CHUNK}, the
     * payload stream into the Reply chunk. Sets the lengths in the lists that the reply repeats.
     */
    void write(ChannelHandlerContext ctx, InboundCallState call) {
        boolean isInReplyChunk = call.reply.form == OutboundReplyTransferForm.REPLY_CHUNK;
        writeItems(ctx, call, call.chunks.header.writes());
        writeStream(ctx, call, call.chunks.header.reply(), isInReplyChunk);
    }

    private void writeItems(ChannelHandlerContext ctx, InboundCallState call, WriteList writes) {
        OutboundReducedItems items = call.reply.payload.items();
        int item = 0;
        for (int c = 0; c < writes.chunks(); c++) {
            boolean isUsed = item < items.count && items.chunk(item) == c;
            ByteBuf apart = isUsed ? items.apart(item) : null;
            ByteBuf memory = apart == null ? call.reply.payload.stream : apart;
            int index = apart == null ? isUsed ? items.index(item) : 0 : apart.readerIndex();
            int left = isUsed ? items.length(item) : 0;
            for (int i = writes.firstSegment(c); i < writes.endSegment(c); i++) {
                int length = (int) Math.min(left, writes.length(i));
                writeSegment(ctx, call, memory, index, length, writes.handle(i), writes.offset(i));
                writes.length(i, length);
                index += length;
                left -= length;
            }
            item += isUsed ? 1 : 0;
        }
    }

    /**
     * Writes the payload stream without the items into the Reply chunk; if the chunk is unused, sets its lengths to 0.
     */
    private void writeStream(
            ChannelHandlerContext ctx, InboundCallState call, ReplyChunk chunk, boolean isUsed) {
        OutboundReducedStreamPieceIterator stream = call.reply.pieces.of(call.reply.payload);
        for (int i = 0; i < chunk.segments(); i++) {
            long room = chunk.length(i);
            long filled = 0;
            while (isUsed && filled < room && stream.advance(room - filled)) {
                writeSegment(ctx, call, stream.piece(), chunk.handle(i), chunk.offset(i) + filled);
                filled += stream.piece().length();
            }
            chunk.length(i, filled);
        }
    }

    private void writeSegment(
            ChannelHandlerContext ctx,
            InboundCallState call,
            ByteBuf memory,
            int index,
            int length,
            int handle,
            long offset) {
        LeadingContiguousBufferPiece piece = call.reply.pieces.piece();
        for (int done = 0; done < length; done += piece.length()) {
            piece.of(memory, index + done, length - done);
            writeSegment(ctx, call, piece, handle, offset + done);
        }
    }

    private void writeSegment(
            ChannelHandlerContext ctx,
            InboundCallState call,
            LeadingContiguousBufferPiece data,
            int handle,
            long offset) {
        ByteBuf content = link.internals.sendablePart(data.memory(), data.index(), data.length());
        link.metrics.add(RpcRdmaCounter.WRITE_BYTES_SENT, data.length());
        ctx.write(new RdmaWrite(content, handle, offset), responder.work(call.xid));
    }
}
