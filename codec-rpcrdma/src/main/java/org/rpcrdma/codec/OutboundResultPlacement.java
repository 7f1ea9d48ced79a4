// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.codec.binding.Reduction;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.wire.RpcCallHeader;
import org.rpcrdma.codec.wire.WriteList;

/** Plans a reply: which results go into the Write chunks that its call has offered (RFC 8166, 4.3.2). */
final class OutboundResultPlacement {

    private final ConnectionContext link;
    private final XdrCursor cursor = new XdrCursor();

    OutboundResultPlacement(ConnectionContext link) {
        this.link = link;
    }

    /**
     * Takes over what a user has written. His items have to be eligible; when one has no Write chunk they all go with
     * the payload.
     *
     * @throws RpcRdmaException when it cannot be sent; so are other exceptions, for what the user has got wrong. Then
     *     it stays with the user.
     * @throws BindingException when the upper-layer binding has failed; then too
     */
    void take(InboundCall call, Object written) throws RpcRdmaException, BindingException {
        if (!(written instanceof RpcMessage message) || message.items() == 0) {
            call.reply.payload.take(written);
            return;
        }
        OutboundDdpEligibilityValidator.positions(message);
        if (call.request.procedure.isReducible() && allHaveChunks(call, message)) {
            call.reply.payload.take(message);
            return;
        }
        ByteBuf whole;
        try {
            whole = link.whole(message);
        } catch (ArithmeticException | IllegalArgumentException e) {
            throw MarshalException.ofReply(e); // longer than a message can be
        }
        call.reply.payload.take(whole);
        message.release();
    }

    private boolean allHaveChunks(InboundCall call, RpcMessage message)
            throws EligibilityException, BindingException {
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
     * Finds the results; {@code false} when they end too early. There are none in what is no reply to an
     * executed call.
     */
    private boolean walk(InboundCall call, ByteBuf stream, Reduction reduction)
            throws BindingException {
        int start = stream.readerIndex();
        int end = stream.writerIndex();
        int index = RpcCallHeader.resultsIndex(stream, start, end);
        cursor.wrap(stream, start, Math.max(index, start), end, reduction);
        if (index < 0) {
            cursor.release();
            return true;
        }
        return call.request.procedure.walkResults(cursor);
    }

    /**
     * Eligible results take Write chunks in their order; an empty chunk keeps its result inline.
     *
     * @return why the call is refused; {@code null} when it is answered
     * @throws BindingException when the upper-layer binding has failed
     */
    Refusal reduce(InboundCall call) throws BindingException {
        RpcMessage parts = call.reply.payload.parts();
        if (!call.request.procedure.isReducible()
                || !walk(call, call.reply.payload.stream(), parts.reduction())) {
            return null; // carried as it is: the requester judges it
        }
        WriteList writes = call.chunks.header.writes();
        OutboundReducedItems items = call.reply.payload.items();
        XdrCursor in = cursor;
        for (int i = 0; i < in.items() && i < writes.chunks(); i++) {
            if (writes.isEmptyChunk(i)) {
                continue;
            }
            if (in.itemLength(i) > writes.chunkLength(i)) {
                return Refusal.replyTooLong(
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
