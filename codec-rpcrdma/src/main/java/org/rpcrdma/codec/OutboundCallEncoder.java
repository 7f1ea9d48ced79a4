// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.codec.wire.RpcCallHeader;

/**
 * Builds the Send of a call. Its chunks are exposed here, just before the Send (RFC 8166, 4.4.1); whoever sends it
 * invalidates them.
 */
final class OutboundCallEncoder {

    private final ConnectionContext link;
    private final RequesterState requester;
    private final SendEncoder sends;
    private final LeadingContiguousPiece piece = new LeadingContiguousPiece();

    OutboundCallEncoder(ConnectionContext link, RequesterState requester, SendEncoder sends) {
        this.link = link;
        this.requester = requester;
        this.sends = sends;
    }

    ByteBuf encode(OutboundCall call) throws CallTooLongException {
        int credit = requester.credits().requested();
        OutboundCallRequest request = call.request;
        ProtocolVersion protocol = call.protocol();
        RpcRdmaOption option = request.option();
        if (option != null) {
            return sends.option(protocol, option, credit);
        }
        OutboundCallForm form = request.form();
        call.header.set(
                call.xid(), protocol.number(), credit, form.procedure(), RpcCallHeader.CALL);
        boolean isInPlace = form != OutboundCallForm.INLINE && exposeArguments(call, form);
        if (call.chunks.hasRoom()) {
            exposeRoom(call);
        }
        ByteBuf send = sends.message(RpcRdmaRole.REQUESTER, protocol, call.header, request.payload);
        if (!isInPlace) {
            request.payload.releaseStream();
        }
        return send;
    }

    /** The Send that tells the responder that its Read chunks are done with. */
    Object encode(PullCompletionMessage completion) {
        link.metrics().increment(RpcRdmaCounter.PULL_COMPLETIONS_SENT);
        return completion.encode(link, requester.credits().requested());
    }

    /** Returns whether memory of the payload stream itself is exposed. */
    private boolean exposeArguments(OutboundCall call, OutboundCallForm form) {
        ByteBuf stream = call.request.payload.stream();
        boolean isInPlace =
                form == OutboundCallForm.LONG
                        && exposeArgument(
                                call, stream, 0, stream.readerIndex(), stream.readableBytes());
        OutboundReducedItems items = call.request.payload.items();
        for (int i = 0; i < items.count(); i++) {
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

    /** Returns whether the memory itself is exposed, and not a copy of it. */
    private boolean exposeArgument(
            OutboundCall call, ByteBuf argument, long position, int index, int length) {
        piece.of(argument, index, length);
        ByteBuf memory = piece.memory();
        int start = piece.index();
        boolean isInPlace =
                piece.length() == length && link.channel().exposesInPlace(memory, start, length);
        if (!isInPlace) {
            ByteBuf copy = link.buffer(length);
            call.chunks.own(copy);
            copy.writeBytes(argument, index, length);
            link.metrics().add(RpcRdmaRole.REQUESTER, RpcRdmaCounter.COPIED_BYTES, length);
            memory = copy;
            start = 0;
        }
        int handle = expose(call, memory, start, length, RemoteAccess.READ);
        call.header.reads().add(position, handle, length, link.channel().exposedOffset(handle));
        return isInPlace;
    }

    /** The room for the reply. */
    private void exposeRoom(OutboundCall call) {
        for (int i = 0; i < call.chunks.sinks.count(); i++) {
            exposeSink(call, i);
        }
        if (call.chunks.replyChunkBytes() > 0) {
            exposeReplyChunk(call);
        }
    }

    /**
     * A Write chunk with its memory; an empty chunk for a sink without room, because no memory of no bytes can be
     * exposed. In ours there is room before the data for what is inline before the item, and
     * after it for the pad and the rest, so that the reply becomes one piece by copying only what came inline. The
     * pad is not offered (RFC 8166, 3.4.6.2).
     */
    private void exposeSink(OutboundCall call, int sink) {
        int length = call.chunks.sinks.length(sink);
        RpcMessage parts = call.request.payload.parts();
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

    private void offerSink(OutboundCall call, ByteBuf memory, int index, int length) {
        int handle = expose(call, memory, index, length, RemoteAccess.WRITE);
        call.header.writes().add(handle, length, link.channel().exposedOffset(handle));
    }

    private void exposeReplyChunk(OutboundCall call) {
        int length = call.chunks.replyChunkBytes();
        ByteBuf memory = sink(length);
        call.chunks.replySink(memory);
        int handle = expose(call, memory, 0, length, RemoteAccess.WRITE);
        call.header.reply().setPresent();
        call.header.reply().add(handle, length, link.channel().exposedOffset(handle));
    }

    /** Memory for results; a responder may say of any of it that it has written there. */
    private ByteBuf sink(int bytes) {
        ByteBuf memory = link.buffer(bytes);
        return link.config().clearsSinks() ? memory.setZero(0, bytes) : memory;
    }

    private int expose(
            OutboundCall call, ByteBuf memory, int index, int length, RemoteAccess access) {
        int handle = link.expose(memory, index, length, access);
        call.chunks.expose(handle);
        return handle;
    }
}
