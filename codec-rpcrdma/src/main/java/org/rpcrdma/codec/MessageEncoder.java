// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RemoteAccess;

/**
 * Builds the Sends of calls and replies. The chunks of a call are exposed here, just before its Send (RFC 8166, 4.4.1);
 * whoever sends it fences them.
 */
final class MessageEncoder {

    private final RpcRdmaConnection connection;
    private final Piece piece = new Piece();

    MessageEncoder(RpcRdmaConnection connection) {
        this.connection = connection;
    }

    ByteBuf call(RpcRdmaExchange call) throws CallTooLongException {
        ByteBuf message = call.message;
        TransportHeader header = call.header;
        header.clear();
        header.set(
                call.xid,
                call.protocol.number(),
                connection.requesterCredits().requested(),
                call.isLong ? TransportHeader.RDMA_NOMSG : TransportHeader.RDMA_MSG,
                RpcCallHeader.CALL);
        boolean isInPlace = false;
        if (call.isLong) {
            isInPlace =
                    exposeArgument(
                            call, message, 0, message.readerIndex(), message.readableBytes());
        }
        ItemList items = call.items;
        for (int i = 0; i < items.count(); i++) {
            ByteBuf apart = items.apart(i);
            if (apart == null) {
                isInPlace |=
                        exposeArgument(
                                call, message, items.position(i), items.index(i), items.length(i));
            } else {
                exposeArgument(
                        call, apart, items.position(i), apart.readerIndex(), items.length(i));
            }
        }
        for (int i = 0; i < call.sinkCount(); i++) {
            exposeSink(call, i);
        }
        if (call.replyChunkBytes > 0) {
            call.replySink = connection.buffer(call.replyChunkBytes);
            int handle = expose(call, call.replySink, 0, call.replyChunkBytes, RemoteAccess.WRITE);
            header.reply().setPresent();
            header.reply()
                    .add(handle, call.replyChunkBytes, connection.channel().exposedOffset(handle));
        }
        int inline = call.isLong ? 0 : message.readableBytes() - call.items.removedBytes();
        ByteBuf send = encode(call, inline);
        if (inline > 0) {
            writePayload(send, message, call.items);
            connection.metrics().add(RpcRdmaCounter.INLINE_BYTES, inline);
        }
        if (!isInPlace) {
            call.releaseMessage();
        }
        return send;
    }

    /** Returns whether the memory itself is exposed, and not a copy of it. */
    private boolean exposeArgument(
            RpcRdmaExchange call, ByteBuf argument, long position, int index, int length) {
        piece.of(argument, index, length);
        ByteBuf memory = piece.memory();
        int start = piece.index();
        boolean isInPlace =
                piece.length() == length
                        && connection.channel().exposesInPlace(memory, start, length);
        if (!isInPlace) {
            ByteBuf copy = connection.buffer(length);
            call.addCopy(copy);
            copy.writeBytes(argument, index, length);
            connection.metrics().add(RpcRdmaCounter.COPIED_BYTES, length);
            memory = copy;
            start = 0;
        }
        int handle = expose(call, memory, start, length, RemoteAccess.READ);
        call.header
                .reads()
                .add(position, handle, length, connection.channel().exposedOffset(handle));
        return isInPlace;
    }

    /**
     * A Write chunk with its memory: room before the data for what is inline before the item, and after it for the pad and
     * the rest, so that the reply becomes one piece by copying only what came inline. The pad is not offered (RFC 8166,
     * 3.4.6.2).
     */
    private void exposeSink(RpcRdmaExchange call, int sink) {
        int length = call.sinkLength(sink);
        if (call.annotated != null && call.annotated.sinks() > 0) {
            ByteBuf given = call.annotated.sink(sink);
            if (given != null) {
                int index = call.annotated.sinkIndex(sink);
                int handle = expose(call, given, index, length, RemoteAccess.WRITE);
                call.header
                        .writes()
                        .add(handle, length, connection.channel().exposedOffset(handle));
            }
            call.header.writes().endChunk();
            return;
        }
        int room = call.protocol.receiveThreshold();
        ByteBuf memory = connection.buffer(room + length + room);
        call.sink(sink, memory);
        int handle = expose(call, memory, room, length, RemoteAccess.WRITE);
        call.header.writes().add(handle, length, connection.channel().exposedOffset(handle));
        call.header.writes().endChunk();
    }

    private int expose(
            RpcRdmaExchange call, ByteBuf memory, int index, int length, RemoteAccess access) {
        RdmaChannel channel = connection.channel();
        int handle = channel.expose(memory, index, length, access);
        call.addHandle(handle);
        return handle;
    }

    /** The Send of a reply whose chunks are written, and whose lists have the lengths. */
    ByteBuf reply(RpcRdmaExchange reply) throws CallTooLongException {
        TransportHeader header = reply.header;
        header.set(
                reply.xid,
                reply.protocol.number(),
                connection.grants().next(),
                reply.isLong ? TransportHeader.RDMA_NOMSG : TransportHeader.RDMA_MSG,
                RpcCallHeader.REPLY);
        int inline = reply.isLong ? 0 : reply.message.readableBytes() - reply.items.removedBytes();
        ByteBuf send = encode(reply, inline);
        if (inline > 0) {
            writePayload(send, reply.message, reply.items);
            connection.metrics().add(RpcRdmaCounter.INLINE_BYTES, inline);
        }
        return send;
    }

    /** The Send of an optional operation. */
    ByteBuf option(RpcRdmaExchange exchange, int credit) throws CallTooLongException {
        RpcRdmaOption option = exchange.option;
        ByteBuf send = allocate(exchange, option.encodedBytes());
        option.encode(send, credit);
        return send;
    }

    /** One registered buffer with the header, and room for the payload. */
    private ByteBuf encode(RpcRdmaExchange exchange, int inline) throws CallTooLongException {
        ByteBuf send = allocate(exchange, exchange.header.encodedBytes() + inline);
        exchange.header.encode(send);
        return send;
    }

    private ByteBuf allocate(RpcRdmaExchange exchange, int length) throws CallTooLongException {
        int threshold = exchange.protocol.sendThreshold();
        if (length > threshold) {
            throw new CallTooLongException(
                    "message of "
                            + length
                            + " bytes (expected: at most the inline threshold of "
                            + threshold
                            + ')');
        }
        return connection.buffer(length);
    }

    /** The payload stream without the items and their round-up. */
    private static void writePayload(ByteBuf send, ByteBuf message, ItemList items) {
        int index = message.readerIndex();
        for (int i = 0; i < items.count(); i++) {
            send.writeBytes(message, index, items.index(i) - index);
            index = items.index(i) + items.bytesInMessage(i);
        }
        send.writeBytes(message, index, message.writerIndex() - index);
    }
}
