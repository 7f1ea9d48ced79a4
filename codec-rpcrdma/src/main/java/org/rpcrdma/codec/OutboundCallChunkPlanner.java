// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.codec.binding.Reduction;
import org.rpcrdma.codec.binding.ReplyLimits;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.wire.RpcCallHeader;

/**
 * Plans a call: how long its reply can get, which results get Write chunks (RFC 8166, 4.3.2 and 6.2), and which
 * arguments leave the payload stream.
 */
final class OutboundCallChunkPlanner {

    /** A GSS wrapping of results: length, sequence number and checksum, far longer than any in use. */
    private static final int GSS_OVERHEAD = 1024;

    private static final long REPLY_HEADER_BYTES =
            RpcCallHeader.REPLY_HEADER_BYTES + RpcCallHeader.MAXIMUM_VERIFIER_BYTES;

    private final ConnectionContext link;

    // Scratch.
    private final RpcCallHeader rpc = new RpcCallHeader();
    private final XdrCursor cursor = new XdrCursor();
    private final ReplyLimits limits = new ReplyLimits();

    OutboundCallChunkPlanner(ConnectionContext link) {
        this.link = link;
    }

    /**
     * Plans a call whose payload was written.
     *
     * @throws RpcRdmaException when it cannot be sent; so are other exceptions, for what the user has got wrong
     * @throws BindingException when the upper-layer binding has failed
     */
    void plan(OutboundCall call) throws RpcRdmaException, BindingException {
        decode(call);
        planReply(call);
        checkSinks(call.sinks);
        if (call.payload.parts().items() > 0) {
            reduceItems(call);
        } else {
            reduce(call);
        }
    }

    private void decode(OutboundCall call) throws BindingException {
        ByteBuf message = call.payload.stream();
        limits.clear();
        if (!rpc.decode(message, message.readerIndex(), message.writerIndex())) {
            return;
        }
        call.procedure.of(rpc, link.config().bindings());
        if (call.procedure.isReducible()) {
            // In other GSS calls the arguments are not where the binding looks for them.
            call.procedure.limitResults(
                    argumentsOf(message, call.payload.parts().reduction()), limits);
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

    private void planReply(OutboundCall call) throws BindingException {
        if (limits.isKnown()) {
            call.replyLimit = REPLY_HEADER_BYTES + limits.totalBytes();
            call.isReplyBounded = true;
        } else {
            limits.results(link.config().defaultMaximumReply());
        }
        if (!link.callsMayHaveChunks()) {
            return; // nothing is offered, and the reply is short (RFC 8167, 5.3)
        }
        RpcMessage wanted = call.payload.parts();
        boolean isReducible = call.procedure.isReducible();
        call.replyMaximum =
                REPLY_HEADER_BYTES + limits.totalBytes() + (isReducible ? 0 : GSS_OVERHEAD);
        if (isReducible && wanted.sinks() > 0) {
            takeSinks(call, wanted);
        } else if (isReducible
                && limits.sinks() > 0
                && (wanted.growth() > 0 || !OutboundCallSizes.areResultsShort(call))) {
            call.replyMaximum = REPLY_HEADER_BYTES + limits.fixedBytes();
            addSinks(call);
        }
        if (wanted.maximumReply() != RpcMessage.UNKNOWN) {
            call.replyMaximum = wanted.maximumReply();
            call.isReplyBounded = true;
        }
        if (wanted.growth() > 0) {
            call.isReplyBounded = true; // by what is tried now
            grow(call, wanted);
        }
    }

    /** Those results get Write chunks that may; the others come with the payload. */
    private void addSinks(OutboundCall call) throws BindingException {
        int most = call.procedure.mostChunks(link.config());
        long longest = 0;
        for (int i = 0; i < limits.sinks(); i++) {
            if (i < most) {
                call.sinks.add((int) Math.min(limits.sinkBytes(i), 0xFFFFFFFFL));
            } else {
                call.replyMaximum += (limits.sinkBytes(i) + 3) & ~3L;
                longest = Math.max(longest, limits.sinkBytes(i));
            }
        }
        widen(call.sinks, Math.min(longest, 0xFFFFFFFFL));
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
            call.sinks.add(wanted.sinkLength(i));
        }
        call.replyMaximum = REPLY_HEADER_BYTES + limits.fixedBytes();
        for (int i = 0; i < limits.sinks(); i++) {
            if (i >= count || wanted.sinkLength(i) == 0) {
                call.replyMaximum += (limits.sinkBytes(i) + 3) & ~3L;
            }
        }
    }

    /** The responder has found the room for the reply too small: nobody knows which part of it, so all of it grows. */
    private void grow(OutboundCall call, RpcMessage wanted) {
        int inline = call.protocol.receiveThreshold();
        long room = wanted.growthMaximum();
        call.replyMaximum =
                Math.min(
                        Math.max(call.replyMaximum, inline) << wanted.growth(),
                        Math.min(room, link.config().maxMessageBytes()));
        if (call.procedure.isReducible() && wanted.sinks() > 0) {
            return; // the caller's own memory
        }
        room -= Math.max(call.replyMaximum, inline);
        for (int i = 0; i < call.sinks.count(); i++) {
            long before = Math.max(call.sinks.length(i), 1L);
            long grown = Math.min(before << wanted.growth(), Math.max(before, room));
            call.sinks.length(i, (int) Math.min(grown, link.config().maxChunkBytes()));
            room -= grown;
        }
    }

    private void checkSinks(WriteChunkSinks sinks) throws CallTooLongException {
        for (int i = 0; i < sinks.count(); i++) {
            if (sinks.length(i) < 0 || sinks.length(i) > link.config().maxChunkBytes()) {
                throw new CallTooLongException(
                        "a result of up to "
                                + Integer.toUnsignedString(sinks.length(i))
                                + " bytes is above maxChunkBytes");
            }
        }
    }

    // ------------------------------------------------------------------ arguments

    /** Moves eligible arguments into Read chunks when the call does not fit inline but does so without them. */
    private void reduce(OutboundCall call) throws BindingException {
        ByteBuf message = call.payload.stream();
        if (!call.procedure.isReducible()
                || !link.callsMayHaveChunks()
                || OutboundCallSizes.fitsInline(call, message.readableBytes())) {
            return;
        }
        XdrCursor in = argumentsOf(message, Reduction.NONE);
        if (!call.procedure.walkArguments(in)) {
            return; // carried whole: the responder judges it
        }
        ItemList items = call.payload.items();
        int most = call.procedure.mostChunks(link.config());
        for (int i = 0; i < in.items(); i++) {
            if (mayReduce(in, i) && longer(in, i) < most) {
                items.add(in.itemPosition(i), in.itemIndex(i), in.itemLength(i), i);
            }
        }
        if (!OutboundCallSizes.fitsInline(call, call.payload.reducedBytes())) {
            items.clear();
        }
    }

    private boolean mayReduce(XdrCursor in, int item) {
        int length = in.itemLength(item);
        return length > 0 && length <= link.config().maxChunkBytes();
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
    private void reduceItems(OutboundCall call) throws RpcRdmaException, BindingException {
        RpcMessage message = call.payload.parts();
        OutboundDdpItemValidator.positions(message);
        if (OutboundCallSizes.fitsInline(call, message.wholeLength())) {
            checkLength(message);
            call.payload.sendWhole();
            return;
        }
        if (!call.procedure.isReducible() || !link.callsMayHaveChunks()) {
            checkLength(message);
            merge(call, message);
            return;
        }
        ByteBuf stream = call.payload.stream();
        XdrCursor in = argumentsOf(stream, message.reduction());
        boolean isComplete = call.procedure.walkArguments(in);
        OutboundDdpItemValidator.items(message, in);
        for (int i = 0; i < message.items(); i++) {
            ByteBuf data = message.item(i);
            if (data.readableBytes() > link.config().maxChunkBytes()) {
                throw new CallTooLongException(
                        "an argument of " + data.readableBytes() + " bytes is above maxChunkBytes");
            }
            if (data.isReadable()) {
                int index = stream.readerIndex() + (int) message.payloadOffset(i);
                call.payload.items().addApart(message.itemPosition(i), index, i, data);
            }
        }
        OutboundDdpItemValidator.complete(isComplete);
    }

    private void checkLength(RpcMessage message) throws CallTooLongException {
        long whole = message.wholeLength();
        if (whole > link.config().maxMessageBytes()) {
            throw new CallTooLongException(
                    "a call of " + whole + " bytes is above maxMessageBytes");
        }
    }

    private void merge(OutboundCall call, RpcMessage message) throws MarshalException {
        try {
            call.payload.merge(link.whole(message));
        } catch (IllegalStateException e) {
            throw new MarshalException(e); // the event loop has no more memory to register
        }
    }
}
