// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaSend;
import org.rpcrdma.channel.RemoteAccess;

/**
 * Transport headers (RFC 8166, 4): takes each Send apart, answers or drops what is wrong with it (4.5), and finds the
 * exchange it belongs to; builds the Sends of calls and replies. The chunks of a call are exposed here, just before its
 * Send, and fenced here, before anybody looks at the reply (4.4.1).
 */
final class RpcRdmaHeaderCodec extends ChannelDuplexHandler {

    private final RpcRdmaConnection connection;
    private final ConnectionMetrics metrics;

    RpcRdmaHeaderCodec(RpcRdmaConnection connection) {
        this.connection = connection;
        this.metrics = connection.metrics();
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        if (ctx.channel().isActive()) {
            connection.start();
        }
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        connection.start();
        ctx.fireChannelActive();
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        ctx.fireChannelReadComplete();
        connection.flushNow(ctx);
    }

    // ------------------------------------------------------------------ received

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object received) {
        if (!(received instanceof ByteBuf message)) {
            ctx.fireChannelRead(received);
            return;
        }
        // Whoever takes the message over gives back null; the order of the checks is that of RFC
        // 8166, 4.5.
        boolean taken = false;
        try {
            taken = dispatch(ctx, message);
        } finally {
            if (!taken) {
                message.release();
            }
        }
    }

    /** Returns whether the message was handed on. */
    private boolean dispatch(ChannelHandlerContext ctx, ByteBuf message) {
        int length = message.readableBytes();
        if (length < TransportHeader.ERR_CHUNK_BYTES) {
            connection.drop(RpcRdmaCounter.DROPPED_SHORT, 0, "message of " + length + " bytes");
            return false;
        }
        TransportHeader header = connection.received();
        header.decodeFixed(message, message.readerIndex());
        boolean isError = header.proc() == TransportHeader.RDMA_ERROR;
        if (length < TransportHeader.MINIMUM_BYTES && !isError) {
            connection.drop(
                    RpcRdmaCounter.DROPPED_SHORT, header.xid(), "message of " + length + " bytes");
            return false;
        }
        if (isError) {
            receiveError(ctx, message, header);
            return false;
        }
        if (header.version() != TransportHeader.VERSION) {
            receiveOtherVersion(ctx, header);
            return false;
        }
        if (header.proc() == TransportHeader.RDMA_DONE) {
            connection.drop(RpcRdmaCounter.DROPPED_PROCEDURE, header.xid(), "RDMA_DONE");
            return false;
        }
        if (header.proc() != TransportHeader.RDMA_MSG
                && header.proc() != TransportHeader.RDMA_NOMSG) {
            badMessage(
                    ctx,
                    header,
                    RpcRdmaCounter.DROPPED_PROCEDURE,
                    "procedure " + Integer.toUnsignedString(header.proc()));
            return false;
        }
        int payload =
                header.decodeLists(
                        message,
                        message.readerIndex() + TransportHeader.FIXED_BYTES,
                        message.writerIndex(),
                        connection.config().maxSegmentsPerMessage());
        if (payload < 0) {
            badMessage(ctx, header, RpcRdmaCounter.DROPPED_BAD_REPLY, header.problem());
            return false;
        }
        return receiveMessage(ctx, message, header, payload);
    }

    /** RDMA_ERROR: only a requester takes one, and nobody ever answers one. */
    private void receiveError(ChannelHandlerContext ctx, ByteBuf message, TransportHeader header) {
        int index = message.readerIndex();
        int code = message.getInt(index + TransportHeader.FIXED_BYTES);
        boolean isVersion = code == TransportHeader.ERR_VERS;
        int lowest = 0;
        int highest = 0;
        if (isVersion && message.readableBytes() >= TransportHeader.ERR_VERS_BYTES) {
            lowest = message.getInt(index + 20);
            highest = message.getInt(index + 24);
        } else if (code != TransportHeader.ERR_CHUNK) {
            connection.drop(
                    RpcRdmaCounter.DROPPED_ERROR, header.xid(), "RDMA_ERROR that does not decode");
            return;
        }
        RpcRdmaExchange call = connection.call(header.xid());
        if (call == null || call.state == RpcRdmaExchange.State.QUEUED) {
            connection.drop(
                    RpcRdmaCounter.DROPPED_UNKNOWN_XID, header.xid(), "RDMA_ERROR without a call");
            return;
        }
        if (isVersion && Integer.compareUnsigned(lowest, highest) > 0) {
            connection.drop(
                    RpcRdmaCounter.DROPPED_ERROR, header.xid(), "ERR_VERS with an empty range");
            return;
        }
        metrics.increment(RpcRdmaCounter.ERRORS_RECEIVED);
        call.fence();
        call.failure =
                isVersion
                        ? new UnsupportedVersionException(lowest, highest)
                        : remoteChunkException(call);
        boolean isHopeless =
                isVersion
                        && (Integer.compareUnsigned(lowest, TransportHeader.VERSION) > 0
                                || highest == 0);
        ctx.fireChannelRead(call);
        if (isHopeless) {
            connection.closeNow("the responder does not speak version 1", null);
        }
    }

    private RemoteChunkException remoteChunkException(RpcRdmaExchange call) {
        WriteList writes = call.header.writes();
        return new RemoteChunkException(
                connection.receiveThreshold(),
                writes.sum(0, writes.segments()),
                call.header.reply().chunkLength(),
                call.replyLimit);
    }

    private void receiveOtherVersion(ChannelHandlerContext ctx, TransportHeader header) {
        if (!connection.isServer()
                && (!connection.isResponder() || connection.call(header.xid()) != null)) {
            connection.drop(
                    RpcRdmaCounter.DROPPED_VERSION,
                    header.xid(),
                    "version " + Integer.toUnsignedString(header.version()));
            return;
        }
        metrics.increment(RpcRdmaCounter.VERSION_ERRORS_SENT);
        connection.responderCredits().refused();
        ByteBuf out = connection.buffer(TransportHeader.ERR_VERS_BYTES);
        TransportHeader.encodeErrVers(out, header.xid(), header.version(), grant());
        sendError(ctx, out, ChannelFutureListener.CLOSE_ON_FAILURE);
    }

    /** A header error: of a call as far as the accepting side can know, of a reply at the connecting side. */
    private void badMessage(
            ChannelHandlerContext ctx,
            TransportHeader header,
            RpcRdmaCounter dropped,
            String what) {
        if (connection.isServer()) {
            refuse(ctx, header, what);
        } else {
            connection.drop(dropped, header.xid(), what);
        }
    }

    /** ERR_CHUNK for a call that no exchange was made for (RFC 8166, 4.5.2). */
    private void refuse(ChannelHandlerContext ctx, TransportHeader header, String what) {
        connection.problem(header.xid(), what, "answered with ERR_CHUNK");
        connection.responderCredits().refused();
        ByteBuf out = connection.buffer(TransportHeader.ERR_CHUNK_BYTES);
        TransportHeader.encodeErrChunk(out, header.xid(), header.version(), grant());
        sendError(ctx, out, connection.chunkErrorSent());
    }

    private void sendError(ChannelHandlerContext ctx, ByteBuf out, ChannelFutureListener then) {
        ctx.write(out).addListener(then);
        connection.flushLater();
    }

    private int grant() {
        return connection.grants().next();
    }

    /** Tells calls from replies (RFC 8167, 5): by message type, or by the list that holds a long message. */
    private boolean receiveMessage(
            ChannelHandlerContext ctx, ByteBuf message, TransportHeader header, int payload) {
        int inline = message.writerIndex() - payload;
        int direction = -1;
        if (header.proc() == TransportHeader.RDMA_NOMSG) {
            if (header.reads().hasChunkAt(0)) {
                direction = RpcCallHeader.CALL;
            } else if (header.reads().segments() == 0 && header.reply().isPresent()) {
                direction = RpcCallHeader.REPLY;
            }
        } else if (inline >= RpcCallHeader.DIRECTION_BYTES) {
            direction = message.getInt(payload + 4);
        }
        if (direction == RpcCallHeader.CALL) {
            return receiveCall(ctx, message, header, payload);
        }
        if (direction == RpcCallHeader.REPLY) {
            return receiveReply(ctx, message, header, payload);
        }
        badMessage(ctx, header, RpcRdmaCounter.DROPPED_BAD_REPLY, "neither a call nor a reply");
        return false;
    }

    // ------------------------------------------------------------------ calls received

    private boolean receiveCall(
            ChannelHandlerContext ctx, ByteBuf message, TransportHeader header, int payload) {
        if (!connection.isResponder()) {
            connection.drop(
                    RpcRdmaCounter.DROPPED_UNEXPECTED_CALL, header.xid(), "call at a requester");
            return false;
        }
        if (connection.served(header.xid()) != null) {
            connection.drop(
                    RpcRdmaCounter.DROPPED_DUPLICATE_XID, header.xid(), "call that is in progress");
            return false;
        }
        boolean hasChunks =
                header.reads().segments() > 0
                        || header.writes().segments() > 0
                        || header.reply().segments() > 0;
        if (hasChunks && connection.isFatal(header.xid())) {
            metrics.increment(RpcRdmaCounter.FATAL_XIDS_REFUSED);
            refuse(ctx, header, "call that has ended an earlier connection");
            return false;
        }
        RpcRdmaExchange call = connection.newServed(header.xid());
        String problem = checkCall(call, message, header, payload);
        if (problem != null) {
            connection.finish(call);
            refuse(ctx, header, problem);
            return false;
        }
        findInvalidateHandle(call, header);
        call.isLong = header.proc() == TransportHeader.RDMA_NOMSG;
        connection.keepHeader(call);
        metrics.increment(RpcRdmaCounter.CALLS_RECEIVED);
        countCall(call.header, call.isLong);
        if (call.isLong) {
            message.release();
        } else {
            metrics.add(RpcRdmaCounter.INLINE_BYTES, message.writerIndex() - payload);
            call.message = message.readerIndex(payload);
        }
        ctx.fireChannelRead(call);
        return true;
    }

    /** What can be seen from the header alone, before memory is taken or anything is read (RFC 8166, 4.5.2). */
    private String checkCall(
            RpcRdmaExchange call, ByteBuf message, TransportHeader header, int payload) {
        ReadList reads = header.reads();
        boolean hasPositionZero = reads.hasChunkAt(0);
        long stream = (long) message.writerIndex() - payload;
        if (header.proc() == TransportHeader.RDMA_NOMSG) {
            stream = reads.chunkLength(0);
            if ((stream & 3) != 0 || stream < RpcCallHeader.MINIMUM_CALL_BYTES) {
                return "Position Zero Read chunk of " + stream + " bytes";
            }
        } else if (hasPositionZero) {
            return "RDMA_MSG with a Position Zero Read chunk";
        } else if (message.getInt(payload) != header.xid()) {
            return "payload with another XID";
        }
        if (reads.anyWraps() || header.writes().anyWraps() || header.reply().anyWraps()) {
            return "segment past the end of the address space";
        }
        RpcRdmaConfig config = connection.config();
        if (header.reply().segments() > config.maxSegmentsPerChunk()) {
            return "Reply chunk with too many segments";
        }
        for (int i = 0; i < header.writes().chunks(); i++) {
            if (header.writes().endSegment(i) - header.writes().firstSegment(i)
                    > config.maxSegmentsPerChunk()) {
                return "Write chunk with too many segments";
            }
        }
        // The reply repeats these lists, and a header cannot be chunked (3.5.1).
        if (TransportHeader.FIXED_BYTES
                        + 4
                        + header.writes().encodedBytes()
                        + header.reply().encodedBytes()
                > connection.sendThreshold()) {
            return "chunk lists longer than the reply's inline threshold";
        }
        if (reads.segments() == 0) {
            return null;
        }
        return call.layout.compute(
                reads,
                stream,
                config.maxSegmentsPerChunk(),
                config.maxChunkBytes(),
                config.maxMessageBytes());
    }

    /** Send With Invalidate is for calls with exactly one handle: with several the requester has to do it anyway. */
    private void findInvalidateHandle(RpcRdmaExchange call, TransportHeader header) {
        call.mayInvalidate =
                connection.peerTakesInvalidate()
                        && singleHandle(header.reads(), call, false)
                        && singleHandle(header.writes(), call, header.reads().segments() > 0)
                        && singleHandle(
                                header.reply(),
                                call,
                                header.reads().segments() + header.writes().segments() > 0)
                        && header.reads().segments()
                                        + header.writes().segments()
                                        + header.reply().segments()
                                > 0;
    }

    private static boolean singleHandle(SegmentList list, RpcRdmaExchange call, boolean isKnown) {
        boolean known = isKnown;
        for (int i = 0; i < list.segments(); i++) {
            if (known && list.handle(i) != call.invalidateHandle) {
                return false;
            }
            call.invalidateHandle = list.handle(i);
            known = true;
        }
        return true;
    }

    private void countCall(TransportHeader header, boolean isLong) {
        int reads = header.reads().segments();
        boolean writes = header.writes().chunks() > 0;
        boolean reply = header.reply().isPresent();
        if (isLong) {
            metrics.increment(RpcRdmaCounter.LONG_CALLS);
        } else if (reads > 0) {
            metrics.increment(RpcRdmaCounter.READ_CHUNK_CALLS);
        } else if (!writes && !reply) {
            metrics.increment(RpcRdmaCounter.SHORT_MESSAGES);
        }
        if (writes) {
            metrics.increment(RpcRdmaCounter.WRITE_CHUNK_CALLS);
        }
        if (reply) {
            metrics.increment(RpcRdmaCounter.REPLY_CHUNK_CALLS);
        }
    }

    // ------------------------------------------------------------------ replies received

    private boolean receiveReply(
            ChannelHandlerContext ctx, ByteBuf message, TransportHeader header, int payload) {
        RpcRdmaExchange call = connection.call(header.xid());
        if (call == null || call.state == RpcRdmaExchange.State.QUEUED) {
            connection.drop(
                    RpcRdmaCounter.DROPPED_UNKNOWN_XID, header.xid(), "reply without a call");
            return false;
        }
        boolean isLong = header.proc() == TransportHeader.RDMA_NOMSG;
        String problem = checkReply(call, message, header, payload, isLong);
        if (problem != null) {
            connection.drop(RpcRdmaCounter.DROPPED_BAD_REPLY, header.xid(), problem);
            return false;
        }
        call.fence();
        if (!connection.channel().isActive()) {
            // The memory could not be fenced: the call is lost with its connection (4.5.4).
            return false;
        }
        metrics.increment(RpcRdmaCounter.REPLIES_RECEIVED);
        metrics.add(
                RpcRdmaCounter.PLACED_BYTES,
                header.reply().chunkLength() + header.writes().sum(0, header.writes().segments()));
        call.isLong = isLong;
        if (isLong) {
            metrics.increment(RpcRdmaCounter.LONG_REPLIES);
            message.release();
        } else {
            if (header.writes().chunks() == 0 && !header.reply().isPresent()) {
                metrics.increment(RpcRdmaCounter.SHORT_MESSAGES);
            }
            metrics.add(RpcRdmaCounter.INLINE_BYTES, message.writerIndex() - payload);
            call.message = message.readerIndex(payload);
        }
        ctx.fireChannelRead(call);
        return true;
    }

    /** The lists of a reply against what the call offered; never trusted. */
    private static String checkReply(
            RpcRdmaExchange call,
            ByteBuf message,
            TransportHeader header,
            int payload,
            boolean isLong) {
        if (header.reads().segments() > 0) {
            return "reply with a Read list";
        }
        if (!header.writes().mirrors(call.header.writes())) {
            return "reply whose Write list is not the one of the call";
        }
        if (header.reply().isPresent() && !header.reply().mirrors(call.header.reply())) {
            return "reply whose Reply chunk is not the one of the call";
        }
        long placed = header.reply().chunkLength();
        if (isLong) {
            return placed < RpcCallHeader.MINIMUM_REPLY_BYTES
                    ? "Reply chunk with " + placed + " bytes"
                    : null;
        }
        if (placed != 0) {
            return "RDMA_MSG with a Reply chunk in use";
        }
        return message.getInt(payload) == header.xid() ? null : "payload with another XID";
    }

    // ------------------------------------------------------------------ sent

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (!(message instanceof RpcRdmaExchange exchange)) {
            ctx.write(message, promise);
        } else if (exchange.isRequester) {
            writeCall(ctx, exchange, promise);
        } else if (exchange.isRejected) {
            writeErrChunk(ctx, exchange, promise);
        } else {
            writeReply(ctx, exchange, promise);
        }
    }

    private void writeCall(
            ChannelHandlerContext ctx, RpcRdmaExchange call, ChannelPromise promise) {
        ByteBuf send;
        try {
            send = encodeCall(call);
        } catch (Exception e) {
            // This call fails, and nothing else (RFC 8166, 4.5.4).
            call.fence();
            connection.requesterCredits().notSent();
            connection.publishCredits();
            connection.finish(call);
            promise.tryFailure(writeFailure(e));
            return;
        }
        call.state = RpcRdmaExchange.State.SENT;
        metrics.increment(RpcRdmaCounter.CALLS_SENT);
        countCall(call.header, call.isLong);
        ctx.write(send, promise);
    }

    private Exception writeFailure(Exception cause) {
        if (!connection.channel().isActive()) {
            return new NotSentException(); // closed, and channelInactive is on its way
        }
        return cause instanceof RpcRdmaException ? cause : new MarshalException(cause);
    }

    private ByteBuf encodeCall(RpcRdmaExchange call) throws CallTooLongException {
        ByteBuf message = call.message;
        TransportHeader header = call.header;
        header.clear();
        header.set(
                call.xid,
                connection.requesterCredits().requested(),
                call.isLong ? TransportHeader.RDMA_NOMSG : TransportHeader.RDMA_MSG);
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
        ByteBuf send = encode(header, inline);
        if (inline > 0) {
            writePayload(send, message, call.items);
            metrics.add(RpcRdmaCounter.INLINE_BYTES, inline);
        }
        if (!isInPlace) {
            call.releaseMessage();
        }
        return send;
    }

    /** Returns whether the memory itself is exposed, and not a copy of it. */
    private boolean exposeArgument(
            RpcRdmaExchange call, ByteBuf argument, long position, int index, int length) {
        ByteBuf memory = argument;
        boolean isInPlace = connection.channel().exposesInPlace(memory, index, length);
        int start = index;
        if (!isInPlace) {
            ByteBuf copy = connection.buffer(length);
            call.addCopy(copy);
            copy.writeBytes(memory, index, length);
            metrics.add(RpcRdmaCounter.COPIED_BYTES, length);
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
        int room = connection.receiveThreshold();
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

    private void writeReply(
            ChannelHandlerContext ctx, RpcRdmaExchange reply, ChannelPromise promise) {
        TransportHeader header = reply.header;
        header.reads().clear();
        header.set(
                reply.xid,
                connection.grants().next(),
                reply.isLong ? TransportHeader.RDMA_NOMSG : TransportHeader.RDMA_MSG);
        ByteBuf send;
        try {
            int inline =
                    reply.isLong ? 0 : reply.message.readableBytes() - reply.items.removedBytes();
            send = encode(header, inline);
            if (inline > 0) {
                writePayload(send, reply.message, reply.items);
                metrics.add(RpcRdmaCounter.INLINE_BYTES, inline);
            }
        } catch (Exception e) {
            // The requester has to know that no reply comes (RFC 8166, 4.5.4).
            connection.finish(reply);
            promise.tryFailure(e);
            connection.closeNow("a reply could not be built", e);
            return;
        }
        metrics.increment(RpcRdmaCounter.REPLIES_SENT);
        connection.replySent();
        if (reply.isLong) {
            metrics.increment(RpcRdmaCounter.LONG_REPLIES);
        } else if (header.writes().chunks() == 0 && !header.reply().isPresent()) {
            metrics.increment(RpcRdmaCounter.SHORT_MESSAGES);
        }
        ReplyWork work = connection.replyWork(reply.xid);
        Object message = reply.mayInvalidate ? new RdmaSend(send, reply.invalidateHandle) : send;
        connection.finish(reply);
        ctx.write(message, promise.unvoid().addListener(work));
    }

    private void writeErrChunk(
            ChannelHandlerContext ctx, RpcRdmaExchange call, ChannelPromise promise) {
        ByteBuf out = connection.buffer(TransportHeader.ERR_CHUNK_BYTES);
        TransportHeader.encodeErrChunk(
                out, call.xid, TransportHeader.VERSION, connection.grants().next());
        connection.finish(call);
        ctx.write(out, promise.unvoid().addListener(connection.chunkErrorSent()));
    }

    /** One registered buffer with the header, and room for the payload. */
    private ByteBuf encode(TransportHeader header, int inline) throws CallTooLongException {
        int length = header.encodedBytes() + inline;
        if (length > connection.sendThreshold()) {
            throw new CallTooLongException(
                    "message of "
                            + length
                            + " bytes (expected: at most the inline threshold of "
                            + connection.sendThreshold()
                            + ')');
        }
        ByteBuf send = connection.buffer(length);
        header.encode(send);
        return send;
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
