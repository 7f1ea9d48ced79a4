// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;

/**
 * Builds the Send of a call and exposes its chunks just before (RFC 8166, 4.4.1). {@link TransportHeaderHandler}
 * invalidates them.
 */
final class OutboundCallEncoder {

    private final ConnectionSharedState link;
    private final RequesterState requester;
    private final SendEncoder sends;
    private final LeadingContiguousBufferPiece piece = new LeadingContiguousBufferPiece();

    OutboundCallEncoder(ConnectionSharedState link, RequesterState requester, SendEncoder sends) {
        this.link = link;
        this.requester = requester;
        this.sends = sends;
    }

    ByteBuf encode(OutboundCallState call) throws CallTooLongException {
        int credit = requester.credits.requested;
        OutboundCallRequest request = call.request;
        VersionInlineThresholds protocol = call.protocol;
        OptionalOperationMessage option = request.option;
        if (option != null) {
            return sends.option(protocol, option, credit);
        }
        OutboundCallTransferForm form = request.form;
        call.header.set(
                call.xid, protocol.number, credit, form.procedure, OncRpcHeaderDecoder.CALL);
        boolean isInPlace = form != OutboundCallTransferForm.INLINE && exposeArguments(call, form);
        if (call.chunks.hasRoom) {
            exposeRoom(call);
        }
        ByteBuf send = sends.message(RpcRdmaRole.REQUESTER, protocol, call.header, request.payload);
        if (!isInPlace) {
            request.payload.releaseStream();
        }
        return send;
    }

    /**
     * Builds the Send of a pull completion; {@code null} for lack of memory, which closes the connection so that the
     * responder releases the reply.
     */
    Object encode(RdmaDoneMessage completion) {
        try {
            Object send = completion.encode(link, requester.credits.requested);
            link.metrics.increment(RpcRdmaCounter.PULL_COMPLETIONS_SENT);
            return send;
        } catch (Throwable t) {
            link.closeNow("a pull completion could not be built", t);
            return null;
        }
    }

    /** Exposes the arguments; returns whether the memory of the payload stream itself is exposed, not a copy. */
    private boolean exposeArguments(OutboundCallState call, OutboundCallTransferForm form) {
        ByteBuf stream = call.request.payload.stream;
        boolean isInPlace =
                form == OutboundCallTransferForm.LONG
                        && exposeArgument(
                                call, stream, 0, stream.readerIndex(), stream.readableBytes());
        OutboundReducedItems items = call.request.payload.items();
        for (int i = 0; i < items.count; i++) {
            ByteBuf apart = items.apart(i);
            if (apart == null) {
                isInPlace |=
                        exposeArgument(
                                call, stream, items.position(i), items.index(i), items.length(i));
            } else {
                exposeArgument(
                        call, apart, items.position(i), apart.readerIndex(), items.length(i));
            }
        }
        return isInPlace;
    }

    /** Exposes one argument; returns whether its memory itself is exposed, not a copy. */
    private boolean exposeArgument(
            OutboundCallState call, ByteBuf argument, long position, int index, int length) {
        piece.of(argument, index, length);
        ByteBuf memory = piece.memory();
        int start = piece.index();
        boolean isInPlace =
                piece.length() == length && link.internals.exposesInPlace(memory, start, length);
        if (!isInPlace) {
            ByteBuf copy = link.buffer(length);
            call.chunks.own(copy);
            copy.writeBytes(argument, index, length);
            link.metrics.add(RpcRdmaRole.REQUESTER, RpcRdmaCounter.COPIED_BYTES, length);
            memory = copy;
            start = 0;
        }
        int handle = expose(call, memory, start, length, RemoteAccess.READ);
        call.header.reads().add(position, handle, length, link.channel.exposedOffset(handle));
        return isInPlace;
    }

    /** Exposes the Write chunks and the Reply chunk. */
    private void exposeRoom(OutboundCallState call) {
        for (int i = 0; i < call.chunks.sinks.count; i++) {
            exposeSink(call, i);
        }
        if (call.chunks.replyChunkBytes() > 0) {
            exposeReplyChunk(call);
        }
    }

    /**
     * Exposes the memory of a Write chunk; an empty sink becomes an empty chunk, because memory of zero length cannot
     * be exposed. A sink of the library has space before and after the data for the inline parts and the pad, so that
     * only these are copied to make the reply contiguous. The pad is not offered (RFC 8166, 3.4.6.2).
     */
    private void exposeSink(OutboundCallState call, int sink) {
        int length = call.chunks.sinks.length(sink);
        RpcMessage parts = call.request.payload.parts;
        if (parts.sinks() == 0) {
            int room = call.roomAroundSink();
            ByteBuf memory = sink(room + length + room);
            call.chunks.sinks.memory(sink, memory);
            offerSink(call, memory, room, length);
        } else if (length > 0) {
            offerSink(call, parts.sink(sink), parts.sinkIndex(sink), length);
        }
        call.header.writes().endChunk();
    }

    private void offerSink(OutboundCallState call, ByteBuf memory, int index, int length) {
        int handle = expose(call, memory, index, length, RemoteAccess.WRITE);
        call.header.writes().add(handle, length, link.channel.exposedOffset(handle));
    }

    private void exposeReplyChunk(OutboundCallState call) {
        int length = call.chunks.replyChunkBytes();
        ByteBuf memory = sink(length);
        call.chunks.replySink(memory);
        int handle = expose(call, memory, 0, length, RemoteAccess.WRITE);
        call.header.reply().setPresent();
        call.header.reply().add(handle, length, link.channel.exposedOffset(handle));
    }

    /** Memory for results. A responder may claim to have written any part of it. */
    private ByteBuf sink(int bytes) {
        ByteBuf memory = link.buffer(bytes);
        return link.config().clearsSinks() ? memory.setZero(0, bytes) : memory;
    }

    private int expose(
            OutboundCallState call, ByteBuf memory, int index, int length, RemoteAccess access) {
        int handle = link.expose(memory, index, length, access);
        call.chunks.expose(handle);
        return handle;
    }
}
