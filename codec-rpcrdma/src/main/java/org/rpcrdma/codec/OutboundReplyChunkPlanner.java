// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.codec.binding.ItemInChunkPredicate;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.WriteList;

/** Plans a reply: assigns eligible results to the Write chunks of the call (RFC 8166, 4.3.2). */
final class OutboundReplyChunkPlanner {

    private final ConnectionSharedState link;
    private final OncRpcHeaderDecoder rpc = new OncRpcHeaderDecoder();
    private final XdrCursor cursor = new XdrCursor();

    OutboundReplyChunkPlanner(ConnectionSharedState link) {
        this.link = link;
    }

    /**
     * Takes over a reply of the user. Its items must be DDP-eligible; if one has no Write chunk, all are sent with the
     * payload. The caller keeps the reply when this method throws.
     *
     * @throws RpcRdmaException when the reply cannot be sent; mistakes of the user throw other exceptions
     * @throws FaultyUpperLayerBindingException when the upper-layer binding has failed
     */
    void take(InboundCallState call, Object written)
            throws RpcRdmaException, FaultyUpperLayerBindingException {
        if (!(written instanceof RpcMessage message) || message.items() == 0) {
            call.reply.payload.take(written);
            return;
        }
        OutboundDdpEligibilityValidator.positions(message);
        if (call.request.procedure.isReducible && allHaveChunks(call, message)) {
            call.reply.payload.take(message);
            return;
        }
        ByteBuf whole;
        try {
            whole = link.whole(message);
        } catch (ArithmeticException | IllegalArgumentException e) {
            throw MarshalException.ofReply(e); // above the maximum length of a message
        }
        call.reply.payload.take(whole);
        message.release();
    }

    private boolean allHaveChunks(InboundCallState call, RpcMessage message)
            throws DdpEligibilityException, FaultyUpperLayerBindingException {
        boolean isComplete = walk(call, message.content(), message.reduction());
        OutboundDdpEligibilityValidator.items(message, cursor);
        OutboundDdpEligibilityValidator.complete(isComplete);
        WriteList writes = call.chunks.header.writes();
        for (int i = 0; i < message.items(); i++) {
            int ordinal = OutboundDdpEligibilityValidator.find(cursor, message.itemPosition(i));
            if (ordinal >= writes.chunks() || writes.isEmptyChunk(ordinal)) {
                return false;
            }
        }
        return true;
    }

    /**
     * Finds the eligible results; {@code false} if the results end too early. A reply without SUCCESS has none.
     */
    private boolean walk(InboundCallState call, ByteBuf stream, ItemInChunkPredicate reduction)
            throws FaultyUpperLayerBindingException {
        int start = stream.readerIndex();
        int end = stream.writerIndex();
        int index = rpc.resultsIndex(stream, start, end);
        cursor.wrap(stream, start, Math.max(index, start), end, reduction);
        if (index < 0) {
            cursor.release();
            return true;
        }
        return call.request.procedure.walkResults(cursor);
    }

    /**
     * Moves eligible results into the Write chunks, in order; the result of an empty chunk stays inline.
     *
     * @return the reason to refuse the call; {@code null} to answer it
     * @throws FaultyUpperLayerBindingException when the upper-layer binding has failed
     */
    InboundMessageRefusal reduce(InboundCallState call) throws FaultyUpperLayerBindingException {
        RpcMessage parts = call.reply.payload.parts;
        if (!call.request.procedure.isReducible
                || !walk(call, call.reply.payload.stream, parts.reduction())) {
            return null; // not reduced: the requester reports bad results
        }
        WriteList writes = call.chunks.header.writes();
        OutboundReducedItems items = call.reply.payload.items();
        XdrCursor in = cursor;
        for (int i = 0; i < in.items() && i < writes.chunks(); i++) {
            if (writes.isEmptyChunk(i)) {
                continue;
            }
            if (in.itemLength(i) > writes.chunkLength(i)) {
                return InboundMessageRefusal.replyTooLong(
                        "result of "
                                + in.itemLength(i)
                                + " bytes (expected: at most the "
                                + writes.chunkLength(i)
                                + " of its Write chunk)");
            }
            ByteBuf apart = in.isItemReduced(i) ? parts.itemAt(in.itemPosition(i)) : null;
            if (apart == null) {
                items.add(in.itemPosition(i), in.itemIndex(i), in.itemLength(i), i);
            } else {
                items.addApart(in.itemPosition(i), in.itemIndex(i), i, apart);
            }
        }
        return null;
    }
}
