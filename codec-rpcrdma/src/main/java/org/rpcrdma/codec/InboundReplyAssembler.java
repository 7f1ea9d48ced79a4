// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.util.IllegalReferenceCountException;
import org.rpcrdma.codec.binding.ItemInChunkPredicate;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.WriteList;

/** Reassembles a reply with its results from Write chunks, or leaves those in the sinks of the user. */
final class InboundReplyAssembler {

    /** The most bytes beyond a result's length that are accepted as its round-up. */
    private static final int MOST_ROUND_UP = 3;

    private final ConnectionSharedState link;
    private final XdrCursor cursor = new XdrCursor();
    private final OncRpcHeaderDecoder rpc = new OncRpcHeaderDecoder();
    private final InboundResultWriteChunkMatcher chunks = new InboundResultWriteChunkMatcher();

    InboundReplyAssembler(ConnectionSharedState link) {
        this.link = link;
    }

    /**
     * Returns the message for the user, who owns it: an {@link RpcMessage} if the call was one.
     *
     * @throws RpcRdmaException when the responder has broken the binding
     * @throws FaultyUpperLayerBindingException when the upper-layer binding has failed
     */
    Object read(OutboundCallState call) throws RpcRdmaException, FaultyUpperLayerBindingException {
        if (call.chunks.sinks.count == 0 && call.request.payload.parts == RpcMessage.PLAIN) {
            return call.reply.takeStream();
        }
        ByteBuf stream = call.reply.stream();
        int start = stream.readerIndex();
        WriteList returned = call.header.writes();
        XdrCursor results = cursor.wrap(stream, start, start, start, ItemInChunkPredicate.NONE);
        chunks.of(returned);
        if (call.chunks.sinks.count > 0) {
            walk(call, stream, results);
            check(returned, results);
        }
        results.release();
        if (call.request.payload.parts.sinks() > 0) {
            return inParts(call, call.reply.takeStream(), returned, results);
        }
        ByteBuf whole = insertResults(call, stream, results);
        return call.request.payload.isInParts() ? inParts(call, whole, returned, results) : whole;
    }

    private void walk(OutboundCallState call, ByteBuf stream, XdrCursor results)
            throws MalformedReplyException, FaultyUpperLayerBindingException {
        int start = stream.readerIndex();
        int index = rpc.resultsIndex(stream, start, stream.writerIndex());
        if (index < 0) {
            return; // not executed: no result
        }
        results.wrap(stream, start, index, stream.writerIndex(), chunks);
        if (!call.request.procedure.walkResults(results)) {
            throw new MalformedReplyException("the results end too early");
        }
    }

    /** RFC 8166, 6.1 and 3.4.6: which results were placed, and how long they are. */
    private void check(WriteList returned, XdrCursor results) throws RpcRdmaException {
        if (chunks.isAnyChunkLeft()) {
            throw new DdpEligibilityException("a result that is not eligible was placed directly");
        }
        if (chunks.isAnyLeftInline()) {
            throw new DdpEligibilityException(
                    "an eligible result was left inline in spite of its Write chunk");
        }
        for (int i = 0; i < results.items(); i++) {
            if (!results.isItemReduced(i)) {
                continue;
            }
            int length = results.itemLength(i);
            long placed = returned.chunkLength(chunks.chunkOf(i));
            if (placed < length || placed > length + MOST_ROUND_UP) {
                throw new MalformedReplyException(
                        "a result of " + length + " bytes came as a Write chunk of " + placed);
            }
            if (placed != length) {
                // Some responders write round-up although 3.4.6.2 forbids it: the count word
                // decides.
                link.metrics.increment(RpcRdmaCounter.ROUND_UPS_PLACED);
            }
        }
    }

    /** Builds the reply with the sinks of the user; takes over the payload. */
    private RpcMessage inParts(
            OutboundCallState call, ByteBuf payload, WriteList returned, XdrCursor results) {
        RpcMessage offered = call.request.payload.parts;
        RpcMessage reply = new RpcMessage(payload);
        try {
            addResults(reply, offered, returned, results);
        } catch (IllegalReferenceCountException e) {
            reply.release(); // the user has already released a sink
            throw e;
        }
        return reply;
    }

    private void addResults(
            RpcMessage reply, RpcMessage offered, WriteList returned, XdrCursor results) {
        for (int i = 0; i < offered.sinks(); i++) {
            ByteBuf memory = offered.sink(i);
            int result = resultIn(i, returned, results);
            int length = result < 0 ? 0 : results.itemLength(result);
            if (memory != null) {
                memory.retain();
                memory.setIndex(memory.readerIndex(), offered.sinkIndex(i) + length);
            }
            reply.addResult(memory, result < 0 ? -1 : (int) results.itemPosition(result), length);
        }
    }

    /** Number of the result in a sink; negative if none. An empty result belongs to the sink of the same number. */
    private int resultIn(int sink, WriteList returned, XdrCursor results) {
        int placed = chunks.resultIn(sink);
        boolean isOfNoBytes =
                placed < 0
                        && sink < results.items()
                        && results.itemLength(sink) == 0
                        && sink < returned.chunks()
                        && !returned.isEmptyChunk(sink);
        return isOfNoBytes ? sink : placed;
    }

    // ------------------------------------------------------------------ whole

    private ByteBuf insertResults(OutboundCallState call, ByteBuf stream, XdrCursor results) {
        int reduced = 0;
        for (int i = 0; i < results.items(); i++) {
            reduced += results.isItemReduced(i) ? 1 : 0;
        }
        if (reduced == 0) {
            return call.reply.takeStream();
        }
        int room = call.roomAroundSink();
        int before = results.itemIndex(0) - stream.readerIndex();
        int after = stream.writerIndex() - results.itemIndex(0);
        return results.items() == 1 && before <= room && after + 3 <= room
                ? intoSink(call, stream, results, before, after)
                : composed(call, stream, results, reduced);
    }

    /**
     * Builds a contiguous reply in the memory of the sink: copies the inline parts around the data, which is not moved.
     */
    private ByteBuf intoSink(
            OutboundCallState call, ByteBuf stream, XdrCursor results, int before, int after) {
        int room = call.roomAroundSink();
        ByteBuf sink = call.chunks.sinks.take(chunks.chunkOf(0));
        int length = results.itemLength(0);
        int pad = XdrCursor.roundUp(length) - length;
        sink.setBytes(room - before, stream, stream.readerIndex(), before);
        sink.setZero(room + length, pad);
        sink.setBytes(room + length + pad, stream, results.itemIndex(0), after);
        return sink.setIndex(room - before, room + length + pad + after);
    }

    private ByteBuf composed(
            OutboundCallState call, ByteBuf stream, XdrCursor results, int reduced) {
        int room = call.roomAroundSink();
        CompositeByteBuf whole =
                link.channel.alloc().compositeDirectBuffer(2 * reduced + reduced + 1);
        int index = stream.readerIndex();
        for (int i = 0; i < results.items(); i++) {
            if (!results.isItemReduced(i)) {
                continue;
            }
            int length = results.itemLength(i);
            int at = results.itemIndex(i);
            whole.addComponent(true, stream.retainedSlice(index, at - index));
            // The library owns the memory after the data, which has room for any pad.
            ByteBuf sink = call.chunks.sinks.take(chunks.chunkOf(i));
            int pad = XdrCursor.roundUp(length) - length;
            sink.setZero(room + length, pad);
            whole.addComponent(true, sink.setIndex(room, room + length + pad));
            index = at;
        }
        return whole.addComponent(true, stream.retainedSlice(index, stream.writerIndex() - index));
    }
}
