// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.codec.binding.BindingRegistry;
import org.rpcrdma.codec.binding.ItemInChunkPredicate;
import org.rpcrdma.codec.binding.ReplyLimits;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;

/**
 * Plans a call: the maximum length of its reply, the results with Write chunks (RFC 8166, 4.3.2 and 6.2), the arguments
 * that are reduced, and so the form of the message.
 */
final class OutboundCallChunkPlanner {

    /** Allowance for the GSS wrapping of results: length, sequence number and checksum; far above any in use. */
    private static final int GSS_OVERHEAD = 1024;

    private static final long REPLY_HEADER_BYTES =
            OncRpcHeaderDecoder.REPLY_HEADER_BYTES + OncRpcHeaderDecoder.MAXIMUM_VERIFIER_BYTES;

    private final ConnectionSharedState link;
    private final RpcRdmaConfig config;
    private final BindingRegistry bindings;
    private final OutboundCallAndReplyRoomCalculator sizes;

    /** Whether outbound calls may have chunks. */
    private final boolean mayHaveChunks;

    private final OncRpcHeaderDecoder rpc;

    // Scratch.
    private final XdrCursor cursor = new XdrCursor();
    private final ReplyLimits limits = new ReplyLimits();

    /** The longest payload stream of the reply, without the results in Write chunks. */
    private long replyMaximum;

    /** Whether the binding or the call bounds the reply. */
    private boolean isReplyBounded;

    /**
     * @param rpc has taken the first words of the call that is planned
     */
    OutboundCallChunkPlanner(ConnectionSharedState link, OncRpcHeaderDecoder rpc) {
        this.rpc = rpc;
        this.link = link;
        config = link.config();
        bindings = config.bindings();
        sizes = new OutboundCallAndReplyRoomCalculator(link);
        mayHaveChunks = link.callsMayHaveChunks();
    }

    /**
     * Plans a call that the user has written.
     *
     * @throws RpcRdmaException when the call cannot be sent; mistakes of the user throw other exceptions
     * @throws FaultyUpperLayerBindingException when the upper-layer binding has failed
     */
    void plan(OutboundCallState call) throws RpcRdmaException, FaultyUpperLayerBindingException {
        OutboundPayloadStreamWithItems payload = call.request.payload;
        RpcMessage parts = payload.parts;
        boolean isInParts = payload.parts != RpcMessage.PLAIN;
        decode(call, payload.stream, parts);
        isReplyBounded = limits.isKnown();
        if (!isReplyBounded) {
            limits.results(config.defaultMaximumReply());
        }
        long total = REPLY_HEADER_BYTES + limits.totalBytes();
        if (mayHaveChunks && !isInParts && isPlain(call, payload, total)) {
            call.request.limitReply(total, isReplyBounded ? total : 0);
            return;
        }
        planReply(call, parts, isInParts, total);
        checkSinks(call.chunks.sinks);
        int replyChunkBytes = sizes.replyChunkBytes(call, isReplyBounded);
        call.chunks.planned(replyChunkBytes, !isInParts || parts.sinks() == 0);
        boolean hasItems = isInParts && parts.items() > 0;
        call.request.send(hasItems ? formOfItems(call, parts) : form(call));
        sizes.check(call);
    }

    /**
     * Whether call and reply go without chunks, and nothing else is to be planned: most calls are so.
     *
     * @param total the longest whole reply
     */
    private static boolean isPlain(
            OutboundCallState call, OutboundPayloadStreamWithItems payload, long total) {
        VersionInlineThresholds protocol = call.protocol;
        return payload.stream.readableBytes() <= protocol.plainArguments
                && total <= protocol.plainResults
                && call.request.procedure.isReducible;
    }

    private void decode(OutboundCallState call, ByteBuf message, RpcMessage parts)
            throws FaultyUpperLayerBindingException {
        limits.clear();
        if (!rpc.decodeCall(message, message.readerIndex(), message.writerIndex())) {
            return;
        }
        UpperLayerBindingInvoker procedure = call.request.procedure;
        procedure.of(rpc, bindings);
        if (procedure.isReducible) {
            // In other GSS calls the binding does not find the arguments: RPCSEC_GSS has wrapped
            // them.
            procedure.limitResults(argumentsOf(message, parts.reduction()), limits);
        }
    }

    private XdrCursor argumentsOf(ByteBuf message, ItemInChunkPredicate reduction) {
        return cursor.wrap(
                message,
                message.readerIndex(),
                rpc.argumentsIndex,
                message.writerIndex(),
                reduction);
    }

    // ------------------------------------------------------------------ the reply

    private void planReply(OutboundCallState call, RpcMessage parts, boolean isInParts, long total)
            throws FaultyUpperLayerBindingException {
        replyMaximum = 0;
        long limit = isReplyBounded ? total : 0;
        if (mayHaveChunks) { // otherwise the reply must be short (RFC 8167, 5.3)
            if (isInParts) {
                planParts(call, parts, total);
            } else {
                planSinks(call, total, false);
            }
        }
        call.request.limitReply(replyMaximum, limit);
    }

    /** Plans the reply to a message that has sinks or a maximum reply. */
    private void planParts(OutboundCallState call, RpcMessage wanted, long total)
            throws FaultyUpperLayerBindingException {
        boolean isReducible = call.request.procedure.isReducible;
        if (isReducible && wanted.sinks() > 0) {
            takeSinks(call, wanted);
        } else {
            planSinks(call, total, wanted.growth() > 0);
        }
        if (wanted.maximumReply() != RpcMessage.UNKNOWN) {
            replyMaximum = wanted.maximumReply();
            isReplyBounded = true;
        }
        if (wanted.growth() > 0) {
            isReplyBounded = true; // by the doubled length
            grow(call, wanted);
        }
    }

    /**
     * Adds sinks of the library for eligible results that can be long.
     *
     * @param total the longest whole reply
     */
    private void planSinks(OutboundCallState call, long total, boolean isForced)
            throws FaultyUpperLayerBindingException {
        if (!call.request.procedure.isReducible) {
            replyMaximum = total + GSS_OVERHEAD;
        } else if (limits.sinks() > 0
                && (isForced || !OutboundCallAndReplyRoomCalculator.areResultsShort(call, total))) {
            replyMaximum = REPLY_HEADER_BYTES + limits.fixedBytes();
            addSinks(call);
        } else {
            replyMaximum = total;
        }
    }

    /** Adds Write chunks for results up to chunksPerCall; the others come with the payload. */
    private void addSinks(OutboundCallState call) throws FaultyUpperLayerBindingException {
        int most = call.request.procedure.mostChunks(config);
        long longest = 0;
        for (int i = 0; i < limits.sinks(); i++) {
            if (i < most) {
                call.chunks.sinks.add((int) Math.min(limits.sinkBytes(i), 0xFFFFFFFFL));
            } else {
                replyMaximum += (limits.sinkBytes(i) + 3) & ~3L;
                longest = Math.max(longest, limits.sinkBytes(i));
            }
        }
        widen(call.chunks.sinks, Math.min(longest, 0xFFFFFFFFL));
    }

    /**
     * Sizes each chunk for the longest of its own and all later results, because an empty result may leave its chunk to
     * the next one (RFC 8166, 4.3.2.2). A result that is always empty needs no chunk.
     *
     * @param longest the longest result that has no chunk
     */
    private static void widen(WriteChunkSinks sinks, long longest) {
        long widest = longest;
        for (int i = sinks.count - 1; i >= 0; i--) {
            widest = Math.max(widest, Integer.toUnsignedLong(sinks.length(i)));
            if (widest == 0) {
                sinks.removeLast();
            } else {
                sinks.length(i, (int) widest);
            }
        }
    }

    /** Adds the sinks of the user; results without a sink, or with an empty one, come with the payload. */
    private void takeSinks(OutboundCallState call, RpcMessage wanted) {
        int count = wanted.sinks();
        while (count > 0 && wanted.sink(count - 1) != null && wanted.sinkLength(count - 1) == 0) {
            count--;
        }
        for (int i = 0; i < count; i++) {
            call.chunks.sinks.add(wanted.sinkLength(i));
        }
        replyMaximum = REPLY_HEADER_BYTES + limits.fixedBytes();
        for (int i = 0; i < limits.sinks(); i++) {
            if (i >= count || wanted.sinkLength(i) == 0) {
                replyMaximum += (limits.sinkBytes(i) + 3) & ~3L;
            }
        }
    }

    /**
     * Enlarges the memory for the reply, which the responder found too small. ERR_CHUNK does not tell which chunk was
     * too small, so all grow.
     */
    private void grow(OutboundCallState call, RpcMessage wanted) {
        int inline = call.protocol.receiveThreshold;
        long room = wanted.growthMaximum();
        replyMaximum =
                Math.min(
                        Math.max(replyMaximum, inline) << wanted.growth(),
                        Math.min(room, config.maxMessageBytes()));
        if (call.request.procedure.isReducible && wanted.sinks() > 0) {
            return; // memory of the user
        }
        room -= Math.max(replyMaximum, inline);
        WriteChunkSinks sinks = call.chunks.sinks;
        for (int i = 0; i < sinks.count; i++) {
            long before = Math.max(sinks.length(i), 1L);
            long grown = Math.min(before << wanted.growth(), Math.max(before, room));
            sinks.length(i, (int) Math.min(grown, config.maxChunkBytes()));
            room -= grown;
        }
    }

    private void checkSinks(WriteChunkSinks sinks) throws CallTooLongException {
        for (int i = 0; i < sinks.count; i++) {
            if (sinks.length(i) < 0 || sinks.length(i) > config.maxChunkBytes()) {
                throw new CallTooLongException(
                        "a result of up to "
                                + Integer.toUnsignedString(sinks.length(i))
                                + " bytes is above maxChunkBytes");
            }
        }
    }

    // ------------------------------------------------------------------ arguments

    /** Moves eligible arguments into Read chunks when the call fits inline only without them. */
    private OutboundCallTransferForm form(OutboundCallState call)
            throws FaultyUpperLayerBindingException {
        OutboundPayloadStreamWithItems payload = call.request.payload;
        UpperLayerBindingInvoker procedure = call.request.procedure;
        ByteBuf message = payload.stream;
        if (message.readableBytes() <= sizes.inlineRoom(call, 0)) {
            return OutboundCallTransferForm.INLINE;
        }
        if (!procedure.isReducible || !mayHaveChunks) {
            return OutboundCallTransferForm.LONG;
        }
        XdrCursor in = argumentsOf(message, ItemInChunkPredicate.NONE);
        if (!procedure.walkArguments(in)) {
            // Not reduced: the responder reports bad arguments.
            return OutboundCallTransferForm.LONG;
        }
        OutboundReducedItems items = payload.items();
        int most = procedure.mostChunks(config);
        for (int i = 0; i < in.items(); i++) {
            if (mayReduce(in, i) && longer(in, i) < most) {
                items.add(in.itemPosition(i), in.itemIndex(i), in.itemLength(i), i);
            }
        }
        if (payload.reducedBytes() <= sizes.inlineRoom(call, items.count)) {
            return OutboundCallTransferForm.REDUCED;
        }
        items.clear(); // not reduced: its one handle needs one Send With Invalidate
        return OutboundCallTransferForm.LONG;
    }

    private boolean mayReduce(XdrCursor in, int item) {
        int length = in.itemLength(item);
        return length > 0 && length <= config.maxChunkBytes();
    }

    /** Rank of an item by length among those that may be reduced; equal lengths count in order. */
    private int longer(XdrCursor in, int item) {
        int length = in.itemLength(item);
        int longer = 0;
        for (int i = 0; i < in.items(); i++) {
            boolean isBefore = in.itemLength(i) == length && i < item;
            longer += mayReduce(in, i) && (in.itemLength(i) > length || isBefore) ? 1 : 0;
        }
        return longer;
    }

    /** Moves the items of the user into Read chunks, or back into the payload if the call is short or not reducible. */
    private OutboundCallTransferForm formOfItems(OutboundCallState call, RpcMessage message)
            throws RpcRdmaException, FaultyUpperLayerBindingException {
        OutboundPayloadStreamWithItems payload = call.request.payload;
        UpperLayerBindingInvoker procedure = call.request.procedure;
        OutboundDdpEligibilityValidator.positions(message);
        if (message.wholeLength() <= sizes.inlineRoom(call, 0)) {
            sizes.checkLength(message.wholeLength());
            payload.sendWhole();
            return OutboundCallTransferForm.INLINE;
        }
        if (!procedure.isReducible || !mayHaveChunks) {
            sizes.checkLength(message.wholeLength());
            merge(payload, message);
            return OutboundCallTransferForm.LONG;
        }
        ByteBuf stream = payload.stream;
        XdrCursor in = argumentsOf(stream, message.reduction());
        boolean isComplete = procedure.walkArguments(in);
        OutboundDdpEligibilityValidator.items(message, in);
        addItems(payload, message, stream);
        OutboundDdpEligibilityValidator.complete(isComplete);
        return payload.reducedBytes() <= sizes.inlineRoom(call, payload.items().count)
                ? OutboundCallTransferForm.REDUCED
                : OutboundCallTransferForm.LONG;
    }

    private void addItems(
            OutboundPayloadStreamWithItems payload, RpcMessage message, ByteBuf stream)
            throws CallTooLongException {
        for (int i = 0; i < message.items(); i++) {
            ByteBuf data = message.item(i);
            if (data.readableBytes() > config.maxChunkBytes()) {
                throw new CallTooLongException(
                        "an argument of " + data.readableBytes() + " bytes is above maxChunkBytes");
            }
            if (data.isReadable()) {
                int index = stream.readerIndex() + (int) message.payloadOffset(i);
                payload.items().addApart(message.itemPosition(i), index, i, data);
            }
        }
    }

    private void merge(OutboundPayloadStreamWithItems payload, RpcMessage message)
            throws MarshalException {
        try {
            payload.merge(link.whole(message));
        } catch (IllegalStateException e) {
            throw new MarshalException(e); // no memory left to register on this event loop
        }
    }
}
