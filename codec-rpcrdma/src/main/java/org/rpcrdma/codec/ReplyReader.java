// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import org.rpcrdma.codec.binding.Reduction;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.wire.RpcCallHeader;
import org.rpcrdma.codec.wire.WriteList;

/** Puts the results that came in Write chunks back into a reply, or leaves them where the user wants them. */
final class ReplyReader {

    private final Link link;
    private final XdrCursor cursor = new XdrCursor();

    ReplyReader(Link link) {
        this.link = link;
    }

    /**
     * Gives back what the user reads, which he owns: a {@link RpcMessage} for a {@link RpcMessage}.
     *
     * @throws RpcRdmaException when the responder has broken the binding
     */
    Object read(Call call) throws RpcRdmaException {
        ByteBuf stream = call.reply;
        int start = stream.readerIndex();
        WriteList returned = call.header.writes();
        XdrCursor results = cursor.wrap(stream, start, start, start, Reduction.NONE);
        if (returned.chunks() > 0) {
            walk(call, stream, returned, results);
            check(returned, results);
        }
        results.release();
        if (call.payload.parts().sinks() > 0) {
            return inParts(call, call.takeReply(), returned, results);
        }
        ByteBuf whole = insertResults(call, stream, results);
        return call.payload.isInParts() ? inParts(call, whole, returned, results) : whole;
    }

    private static void walk(Call call, ByteBuf stream, WriteList returned, XdrCursor results)
            throws MalformedReplyException {
        int start = stream.readerIndex();
        int index = RpcCallHeader.resultsIndex(stream, start, stream.writerIndex());
        if (index < 0) {
            return; // not executed: no result
        }
        results.wrap(stream, start, index, stream.writerIndex(), returned);
        if (!call.procedure.walkResults(results)) {
            throw new MalformedReplyException("the results end too early");
        }
    }

    /** RFC 8166, 6.1 and 3.4.6: which results were placed, and how long they are. */
    private static void check(WriteList returned, XdrCursor results) throws RpcRdmaException {
        for (int c = 0; c < returned.chunks(); c++) {
            long placed = returned.chunkLength(c);
            if (c >= results.items()) {
                if (placed > 0) {
                    throw new EligibilityException(
                            "a result that is not eligible was placed directly");
                }
                continue;
            }
            int length = results.itemLength(c);
            if (placed == 0 && length > 0 && !returned.isEmptyChunk(c)) {
                throw new EligibilityException(
                        "an eligible result was left inline in spite of its Write chunk");
            }
            // Older responders count the round-up in, so the count word decides.
            if (placed != 0 && placed != length && placed != XdrCursor.roundUp(length)) {
                throw new MalformedReplyException(
                        "a result of " + length + " bytes came as a Write chunk of " + placed);
            }
        }
    }

    /** The reply with the sinks that the caller gave; the payload is taken over. */
    private static RpcMessage inParts(
            Call call, ByteBuf payload, WriteList returned, XdrCursor results) {
        RpcMessage offered = call.payload.parts();
        RpcMessage reply = new RpcMessage(payload);
        for (int i = 0; i < offered.sinks(); i++) {
            ByteBuf memory = offered.sink(i);
            boolean isPlaced =
                    i < results.items()
                            && i < returned.chunks()
                            && !returned.isEmptyChunk(i)
                            && (results.isItemReduced(i) || results.itemLength(i) == 0);
            int length = isPlaced ? results.itemLength(i) : 0;
            if (memory != null) {
                memory.retain();
                memory.setIndex(memory.readerIndex(), offered.sinkIndex(i) + length);
            }
            reply.addResult(memory, isPlaced ? (int) results.itemPosition(i) : -1, length);
        }
        return reply;
    }

    // ------------------------------------------------------------------ whole

    private ByteBuf insertResults(Call call, ByteBuf stream, XdrCursor results) {
        int reduced = 0;
        for (int i = 0; i < results.items(); i++) {
            reduced += results.isItemReduced(i) ? 1 : 0;
        }
        if (reduced == 0) {
            return call.takeReply();
        }
        int room = call.roomAroundSink();
        int before = results.itemIndex(0) - stream.readerIndex();
        int after = stream.writerIndex() - results.itemIndex(0);
        return results.items() == 1 && before <= room && after + 3 <= room
                ? intoSink(call, stream, results, before, after)
                : composed(call, stream, results, reduced);
    }

    /** One piece: what came inline goes around the data, which stays where the responder has put it. */
    private static ByteBuf intoSink(
            Call call, ByteBuf stream, XdrCursor results, int before, int after) {
        int room = call.roomAroundSink();
        ByteBuf sink = call.sinks.take(0);
        int length = results.itemLength(0);
        int pad = XdrCursor.roundUp(length) - length;
        sink.setBytes(room - before, stream, stream.readerIndex(), before);
        sink.setZero(room + length, pad);
        sink.setBytes(room + length + pad, stream, results.itemIndex(0), after);
        return sink.setIndex(room - before, room + length + pad + after);
    }

    private ByteBuf composed(Call call, ByteBuf stream, XdrCursor results, int reduced) {
        int room = call.roomAroundSink();
        CompositeByteBuf whole =
                link.channel().alloc().compositeDirectBuffer(2 * reduced + reduced + 1);
        int index = stream.readerIndex();
        for (int i = 0; i < results.items(); i++) {
            if (!results.isItemReduced(i)) {
                continue;
            }
            int length = results.itemLength(i);
            int at = results.itemIndex(i);
            whole.addComponent(true, stream.retainedSlice(index, at - index));
            // The memory after the data is ours and longer than any pad: it fits there.
            ByteBuf sink = call.sinks.take(i);
            int pad = XdrCursor.roundUp(length) - length;
            sink.setZero(room + length, pad);
            whole.addComponent(true, sink.setIndex(room, room + length + pad));
            index = at;
        }
        return whole.addComponent(true, stream.retainedSlice(index, stream.writerIndex() - index));
    }
}
