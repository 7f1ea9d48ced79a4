// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.codec.binding.Reduction;
import org.rpcrdma.codec.binding.ReplyLimits;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.wire.RpcCallHeader;

/**
 * Plans a call: how long its reply can get, which results get Write chunks (RFC 8166, 4.3.2 and 6.2), which arguments
 * leave the payload stream, and so the form in which the call travels.
 */
final class OutboundCallChunkPlanner {

    /** A GSS wrapping of results: length, sequence number and checksum, far longer than any in use. */
    private static final int GSS_OVERHEAD = 1024;

    private static final long REPLY_HEADER_BYTES =
            RpcCallHeader.REPLY_HEADER_BYTES + RpcCallHeader.MAXIMUM_VERIFIER_BYTES;

    private final ConnectionContext link;
    private final RpcRdmaConfig config;
    private final OutboundCallSizes sizes;

    /** Whether own calls may have chunks. */
    private final boolean mayHaveChunks;

    // Scratch.
    private final RpcCallHeader rpc = new RpcCallHeader();
    private final XdrCursor cursor = new XdrCursor();
    private final ReplyLimits limits = new ReplyLimits();

    /** The longest payload stream of the reply, what goes to Write chunks not counted. */
    private long replyMaximum;

    /** Whether the binding or the call says how long the reply can be. */
    private boolean isReplyBounded;

    OutboundCallChunkPlanner(ConnectionContext link) {
        this.link = link;
        config = link.config();
        sizes = new OutboundCallSizes(link);
        mayHaveChunks = link.callsMayHaveChunks();
    }

    /**
     * Plans a call whose payload was written.
     *
     * @throws RpcRdmaException when it cannot be sent; so are other exceptions, for what the user has got wrong
     * @throws BindingException when the upper-layer binding has failed
     */
    void plan(OutboundCall call) throws RpcRdmaException, BindingException {
        OutboundPayload payload = call.request.payload;
        RpcMessage parts = payload.parts();
        boolean isInParts = payload.isInParts();
        decode(call, payload.stream(), parts);
        planReply(call, parts, isInParts);
        checkSinks(call.chunks.sinks);
        int replyChunkBytes = sizes.replyChunkBytes(call, isReplyBounded);
        call.chunks.planned(replyChunkBytes, !isInParts || parts.sinks() == 0);
        boolean hasItems = isInParts && parts.items() > 0;
        call.request.send(hasItems ? formOfItems(call, parts) : form(call));
        sizes.check(call);
    }

    private void decode(OutboundCall call, ByteBuf message, RpcMessage parts)
            throws BindingException {
        limits.clear();
        if (!rpc.decode(message, message.readerIndex(), message.writerIndex())) {
            return;
        }
        Procedure procedure = call.request.procedure;
        procedure.of(rpc, config.bindings());
        if (procedure.isReducible()) {
            // In other GSS calls the arguments are not where the binding looks for them.
            procedure.limitResults(argumentsOf(message, parts.reduction()), limits);
        }
    }

    private XdrCursor argumentsOf(ByteBuf message, Reduction reduction) {
        return cursor.wrap(
                message,
                message.readerIndex(),
                rpc.argumentsIndex(),
                message.writerIndex(),
                reduction);
    }

    // ------------------------------------------------------------------ the reply

    private void planReply(OutboundCall call, RpcMessage parts, boolean isInParts)
            throws BindingException {
        isReplyBounded = limits.isKnown();
        if (!isReplyBounded) {
            limits.results(config.defaultMaximumReply());
        }
        long total = REPLY_HEADER_BYTES + limits.totalBytes();
        replyMaximum = 0;
        long limit = isReplyBounded ? total : 0;
        if (mayHaveChunks) { // otherwise nothing is offered, and the reply is short (RFC 8167, 5.3)
            if (isInParts) {
                planParts(call, parts, total);
            } else {
                planSinks(call, total, false);
            }
        }
        call.request.limitReply(replyMaximum, limit);
    }

    /** Of a message whose user says what he wants. */
    private void planParts(OutboundCall call, RpcMessage wanted, long total)
            throws BindingException {
        boolean isReducible = call.request.procedure.isReducible();
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
            isReplyBounded = true; // by what is tried now
            grow(call, wanted);
        }
    }

    /**
     * Sinks of ours, for eligible results that can be long.
     *
     * @param total the longest whole reply
     */
    private void planSinks(OutboundCall call, long total, boolean isForced)
            throws BindingException {
        if (!call.request.procedure.isReducible()) {
            replyMaximum = total + GSS_OVERHEAD;
        } else if (limits.sinks() > 0
                && (isForced || !OutboundCallSizes.areResultsShort(call, total))) {
            replyMaximum = REPLY_HEADER_BYTES + limits.fixedBytes();
            addSinks(call);
        } else {
            replyMaximum = total;
        }
    }

    /** Those results get Write chunks that may; the others come with the payload. */
    private void addSinks(OutboundCall call) throws BindingException {
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
     * Makes room in each chunk for any of the results from its own on, because one of no bytes may leave its chunk to
     * the next (RFC 8166, 4.3.2.2). What cannot have a byte needs no chunk.
     *
     * @param longest the longest result that has no chunk
     */
    private static void widen(WriteChunkSinks sinks, long longest) {
        long widest = longest;
        for (int i = sinks.count() - 1; i >= 0; i--) {
            widest = Math.max(widest, Integer.toUnsignedLong(sinks.length(i)));
            if (widest == 0) {
                sinks.removeLast();
            } else {
                sinks.length(i, (int) widest);
            }
        }
    }

    /** The sinks of the caller; results that have none, or one without room, come with the payload. */
    private void takeSinks(OutboundCall call, RpcMessage wanted) {
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

    /** The responder has found the room for the reply too small: nobody knows which part of it, so all of it grows. */
    private void grow(OutboundCall call, RpcMessage wanted) {
        int inline = call.protocol().receiveThreshold();
        long room = wanted.growthMaximum();
        replyMaximum =
                Math.min(
                        Math.max(replyMaximum, inline) << wanted.growth(),
                        Math.min(room, config.maxMessageBytes()));
        if (call.request.procedure.isReducible() && wanted.sinks() > 0) {
            return; // the caller's own memory
        }
        room -= Math.max(replyMaximum, inline);
        WriteChunkSinks sinks = call.chunks.sinks;
        for (int i = 0; i < sinks.count(); i++) {
            long before = Math.max(sinks.length(i), 1L);
            long grown = Math.min(before << wanted.growth(), Math.max(before, room));
            sinks.length(i, (int) Math.min(grown, config.maxChunkBytes()));
            room -= grown;
        }
    }

    private void checkSinks(WriteChunkSinks sinks) throws CallTooLongException {
        for (int i = 0; i < sinks.count(); i++) {
            if (sinks.length(i) < 0 || sinks.length(i) > config.maxChunkBytes()) {
                throw new CallTooLongException(
                        "a result of up to "
                                + Integer.toUnsignedString(sinks.length(i))
                                + " bytes is above maxChunkBytes");
            }
        }
    }

    // ------------------------------------------------------------------ arguments

    /** Moves eligible arguments into Read chunks when the call does not fit inline but does so without them. */
    private OutboundCallForm form(OutboundCall call) throws BindingException {
        OutboundPayload payload = call.request.payload;
        Procedure procedure = call.request.procedure;
        ByteBuf message = payload.stream();
        if (message.readableBytes() <= sizes.inlineRoom(call, 0)) {
            return OutboundCallForm.INLINE;
        }
        if (!procedure.isReducible() || !mayHaveChunks) {
            return OutboundCallForm.LONG;
        }
        XdrCursor in = argumentsOf(message, Reduction.NONE);
        if (!procedure.walkArguments(in)) {
            return OutboundCallForm.LONG; // carried whole: the responder judges it
        }
        OutboundReducedItems items = payload.items();
        int most = procedure.mostChunks(config);
        for (int i = 0; i < in.items(); i++) {
            if (mayReduce(in, i) && longer(in, i) < most) {
                items.add(in.itemPosition(i), in.itemIndex(i), in.itemLength(i), i);
            }
        }
        if (payload.reducedBytes() <= sizes.inlineRoom(call, items.count())) {
            return OutboundCallForm.REDUCED;
        }
        items.clear(); // whole: one handle for all of it, which one Send With Invalidate frees
        return OutboundCallForm.LONG;
    }

    private boolean mayReduce(XdrCursor in, int item) {
        int length = in.itemLength(item);
        return length > 0 && length <= config.maxChunkBytes();
    }

    /** How many items that may be reduced are longer than this one, or as long and before it. */
    private int longer(XdrCursor in, int item) {
        int length = in.itemLength(item);
        int longer = 0;
        for (int i = 0; i < in.items(); i++) {
            boolean isBefore = in.itemLength(i) == length && i < item;
            longer += mayReduce(in, i) && (in.itemLength(i) > length || isBefore) ? 1 : 0;
        }
        return longer;
    }

    /** Puts the items of a user into Read chunks, or back when all of it is short or nothing may be reduced. */
    private OutboundCallForm formOfItems(OutboundCall call, RpcMessage message)
            throws RpcRdmaException, BindingException {
        OutboundPayload payload = call.request.payload;
        Procedure procedure = call.request.procedure;
        OutboundDdpEligibilityValidator.positions(message);
        if (message.wholeLength() <= sizes.inlineRoom(call, 0)) {
            sizes.checkLength(message.wholeLength());
            payload.sendWhole();
            return OutboundCallForm.INLINE;
        }
        if (!procedure.isReducible() || !mayHaveChunks) {
            sizes.checkLength(message.wholeLength());
            merge(payload, message);
            return OutboundCallForm.LONG;
        }
        ByteBuf stream = payload.stream();
        XdrCursor in = argumentsOf(stream, message.reduction());
        boolean isComplete = procedure.walkArguments(in);
        OutboundDdpEligibilityValidator.items(message, in);
        addItems(payload, message, stream);
        OutboundDdpEligibilityValidator.complete(isComplete);
        return payload.reducedBytes() <= sizes.inlineRoom(call, payload.items().count())
                ? OutboundCallForm.REDUCED
                : OutboundCallForm.LONG;
    }

    private void addItems(OutboundPayload payload, RpcMessage message, ByteBuf stream)
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

    private void merge(OutboundPayload payload, RpcMessage message) throws MarshalException {
        try {
            payload.merge(link.whole(message));
        } catch (IllegalStateException e) {
            throw new MarshalException(e); // the event loop has no more memory to register
        }
    }
}
