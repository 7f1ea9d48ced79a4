// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import org.rpcrdma.channel.RdmaSend;

/**
 * Transport headers (RFC 8166, 4): takes each Send apart, answers or drops what is wrong with it (4.5), and finds the
 * exchange it belongs to; sends calls and replies. The chunks of a call are exposed here, just before its Send, and fenced
 * here, before anybody looks at the reply (4.4.1).
 */
final class RpcRdmaHeaderCodec extends ChannelDuplexHandler {

    private final RpcRdmaConnection connection;
    private final ConnectionMetrics metrics;
    private final HeaderErrors errors;
    private final OptionMessages options;
    private final MessageEncoder encoder;

    RpcRdmaHeaderCodec(RpcRdmaConnection connection) {
        this.connection = connection;
        this.metrics = connection.metrics();
        errors = new HeaderErrors(connection);
        options = new OptionMessages(connection, errors);
        encoder = new MessageEncoder(connection);
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
        boolean taken = false;
        try {
            taken = dispatch(ctx, message);
        } finally {
            if (!taken) {
                message.release();
            }
        }
    }

    /**
     * Takes a message apart; the order of the checks is that of RFC 8166, 4.5.
     *
     * @return whether somebody else owns the message now
     */
    private boolean dispatch(ChannelHandlerContext ctx, ByteBuf message) {
        int length = message.readableBytes();
        if (length < TransportHeader.DONE_BYTES) {
            connection.drop(RpcRdmaCounter.DROPPED_SHORT, 0, "message of " + length + " bytes");
            return false;
        }
        TransportHeader header = connection.received();
        header.decodeFixed(message, message.readerIndex());
        boolean isError = header.proc() == TransportHeader.RDMA_ERROR;
        WaitingReplies waiting = connection.waitingReplies();
        if (waiting != null
                && connection.versions().speaks(header.version())
                && PullCompletion.isIn(header, message, connection.config().readChunkReplies())) {
            boolean isExpected = waiting.complete(header.xid());
            metrics.increment(
                    isExpected
                            ? RpcRdmaCounter.PULL_COMPLETIONS_RECEIVED
                            : RpcRdmaCounter.DROPPED_COMPLETIONS);
            connection.grants().received();
            return false;
        }
        int minimum = isError ? TransportHeader.ERR_CHUNK_BYTES : TransportHeader.MINIMUM_BYTES;
        if (length < minimum) {
            connection.drop(
                    RpcRdmaCounter.DROPPED_SHORT, header.xid(), "message of " + length + " bytes");
            return false;
        }
        if (isError) {
            receiveError(ctx, message, header);
            return false;
        }
        if (!connection.versions().speaks(header.version())) {
            errors.otherVersion(ctx, header);
            return false;
        }
        if (header.version() == TransportHeader.VERSION_ONE
                && header.proc() == TransportHeader.RDMA_DONE) {
            connection.drop(RpcRdmaCounter.DROPPED_PROCEDURE, header.xid(), "RDMA_DONE");
            return false;
        }
        Direction direction = Direction.fromHeader(header, message);
        if (header.version() == TransportHeader.VERSION_TWO
                && header.proc() == TransportHeader.RDMA2_OPTIONAL) {
            return options.receive(ctx, message, header, direction);
        }
        if (header.proc() != TransportHeader.RDMA_MSG
                && header.proc() != TransportHeader.RDMA_NOMSG) {
            errors.badMessage(
                    ctx,
                    header,
                    direction,
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
            errors.badMessage(
                    ctx, header, direction, RpcRdmaCounter.DROPPED_BAD_REPLY, header.problem());
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
        } else if (code != TransportHeader.ERR_CHUNK
                && code != TransportHeader.RDMA2_ERR_INVAL_OPTION) {
            connection.drop(
                    RpcRdmaCounter.DROPPED_ERROR, header.xid(), "RDMA_ERROR that does not decode");
            return;
        }
        RpcRdmaExchange call = connection.call(header.xid());
        if (call == null || !call.isUnanswered()) {
            connection.drop(
                    RpcRdmaCounter.DROPPED_UNKNOWN_XID, header.xid(), "RDMA_ERROR without a call");
            return;
        }
        if (isVersion && Integer.compareUnsigned(lowest, highest) > 0) {
            connection.drop(
                    RpcRdmaCounter.DROPPED_ERROR, header.xid(), "ERR_VERS with an empty range");
            return;
        }
        if (code == TransportHeader.RDMA2_ERR_INVAL_OPTION && call.option == null) {
            connection.drop(
                    RpcRdmaCounter.DROPPED_ERROR,
                    header.xid(),
                    "INVAL_OPTION for a call that is no option");
            return;
        }
        metrics.increment(RpcRdmaCounter.ERRORS_RECEIVED);
        call.fence();
        call.isRefused = true;
        call.failure =
                switch (code) {
                    case TransportHeader.ERR_VERS ->
                            new UnsupportedVersionException(lowest, highest);
                    case TransportHeader.RDMA2_ERR_INVAL_OPTION ->
                            new UnknownOptionException(call.option.type());
                    default -> remoteChunkException(call);
                };
        connection.keepHeaderWithoutLists(call);
        boolean isHopeless = isVersion && !connection.versions().speaksAny(lowest, highest);
        ctx.fireChannelRead(call);
        if (isHopeless) {
            connection.closeNow(
                    "the responder speaks versions "
                            + Integer.toUnsignedString(lowest)
                            + " to "
                            + Integer.toUnsignedString(highest),
                    null);
        }
    }

    private RemoteChunkException remoteChunkException(RpcRdmaExchange call) {
        WriteList writes = call.header.writes();
        return new RemoteChunkException(
                call.protocol.receiveThreshold(),
                writes.sum(0, writes.segments()),
                call.header.reply().chunkLength(),
                call.replyLimit,
                writes.chunks() > 0 || !LongMessageHandler.neverOffersReplyChunk(call));
    }

    private boolean receiveMessage(
            ChannelHandlerContext ctx, ByteBuf message, TransportHeader header, int payload) {
        if (header.version() == TransportHeader.VERSION_ONE && isOfferedReply(header)) {
            // What looks like a long call is a reply where long calls do not come from, or the call
            // with this XID is there already; otherwise only its payload can tell.
            boolean mayBeCall =
                    connection.isResponder()
                            && connection.served(header.xid()) == null
                            && (connection.takesChunks() || connection.call(header.xid()) == null);
            return mayBeCall
                    ? receiveCall(ctx, message, header, payload, true)
                    : receiveReply(ctx, message, header, payload);
        }
        Direction direction = Direction.of(header, message, payload);
        return switch (direction) {
            case CALL -> receiveCall(ctx, message, header, payload, false);
            case REPLY -> receiveReply(ctx, message, header, payload);
            case UNKNOWN -> {
                errors.badMessage(
                        ctx,
                        header,
                        direction,
                        RpcRdmaCounter.DROPPED_BAD_REPLY,
                        "neither a call nor a reply");
                yield false;
            }
        };
    }

    // ------------------------------------------------------------------ calls received

    private boolean receiveCall(
            ChannelHandlerContext ctx,
            ByteBuf message,
            TransportHeader header,
            int payload,
            boolean isUndetermined) {
        if (!errors.takesCall(header)) {
            return false;
        }
        boolean hasChunks =
                header.reads().segments() > 0
                        || header.writes().chunks() > 0
                        || header.reply().isPresent();
        boolean mayBeReply = isUndetermined && connection.isAwaited(header.xid());
        if (hasChunks && !mayBeReply && connection.isFatal(header.xid())) {
            metrics.increment(RpcRdmaCounter.FATAL_XIDS_REFUSED);
            errors.refuse(ctx, header, "call that has ended an earlier connection");
            return false;
        }
        if (hasChunks && !connection.takesChunks()) {
            errors.refuse(ctx, header, "reverse call with chunks (expected: three empty lists)");
            return false;
        }
        RpcRdmaExchange call = connection.newServed(header.xid(), header.version());
        String problem = HeaderChecks.call(call, message, header, payload);
        if (problem != null) {
            connection.finish(call);
            if (mayBeReply) {
                return receiveReply(ctx, message, header, payload);
            }
            errors.refuse(ctx, header, problem);
            return false;
        }
        HeaderChecks.findInvalidateHandle(call, header);
        call.isLong = header.proc() == TransportHeader.RDMA_NOMSG;
        call.isUndetermined = isUndetermined;
        connection.keepHeader(call);
        if (!isUndetermined) {
            metrics.increment(RpcRdmaCounter.CALLS_RECEIVED);
            metrics.countCall(call.header, call.isLong);
        }
        if (call.isLong) {
            message.release();
        } else {
            metrics.add(RpcRdmaCounter.INLINE_BYTES, message.writerIndex() - payload);
            call.message = message.readerIndex(payload);
        }
        ctx.fireChannelRead(call);
        return true;
    }

    // ------------------------------------------------------------------ replies received

    private boolean isOfferedReply(TransportHeader header) {
        return header.proc() == TransportHeader.RDMA_NOMSG
                && header.reads().hasChunkAt(0)
                && connection.takesReadChunkReplies(header.version());
    }

    private boolean receiveReply(
            ChannelHandlerContext ctx, ByteBuf message, TransportHeader header, int payload) {
        RpcRdmaExchange call = connection.call(header.xid());
        boolean isOffered =
                header.reads().segments() > 0 && connection.takesReadChunkReplies(header.version());
        if (call == null || !call.isUnanswered()) {
            connection.drop(
                    RpcRdmaCounter.DROPPED_UNKNOWN_XID, header.xid(), "reply without a call");
            boolean isPulled = call != null && call.state != RpcRdmaExchange.State.QUEUED;
            if (isOffered && !isPulled) {
                completeUnknown(ctx, header);
            }
            return false;
        }
        String mismatch = HeaderChecks.match(call, header);
        if (mismatch != null) {
            connection.drop(RpcRdmaCounter.DROPPED_BAD_REPLY, header.xid(), mismatch);
            if (isOffered) {
                completeUnknown(ctx, header);
            }
            return false;
        }
        boolean isLong = header.proc() == TransportHeader.RDMA_NOMSG;
        String problem = HeaderChecks.reply(call, message, header, payload, isLong);
        if (problem != null && !isOffered) {
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
        connection.keepHeader(call);
        if (problem != null) {
            call.failure = new PullException(problem);
        }
        if (isOffered) {
            metrics.increment(RpcRdmaCounter.READ_CHUNK_REPLIES);
        }
        if (isLong) {
            metrics.add(RpcRdmaCounter.LONG_REPLIES, isOffered ? 0 : 1);
            message.release();
        } else {
            if (!isOffered && header.writes().chunks() == 0 && !header.reply().isPresent()) {
                metrics.increment(RpcRdmaCounter.SHORT_MESSAGES);
            }
            metrics.add(RpcRdmaCounter.INLINE_BYTES, message.writerIndex() - payload);
            call.message = message.readerIndex(payload);
        }
        ctx.fireChannelRead(call);
        return true;
    }

    /** The call was given up: nothing has to be read, but the responder waits (reliable reply draft, 4.1.3). */
    private void completeUnknown(ChannelHandlerContext ctx, TransportHeader header) {
        connection.requesterCredits().completionDue();
        connection.requesterCredits().completionSent();
        writeCompletion(
                ctx, PullCompletion.plain(header.xid(), header.version()), ctx.newPromise());
        connection.flushLater();
    }

    // ------------------------------------------------------------------ sent

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (message instanceof PullCompletion completion) {
            writeCompletion(ctx, completion, promise);
        } else if (!(message instanceof RpcRdmaExchange exchange)) {
            ctx.write(message, promise);
        } else if (exchange.isRequester) {
            writeCall(ctx, exchange, promise);
        } else if (exchange.isRejected) {
            errors.reject(ctx, exchange, promise);
        } else {
            writeReply(ctx, exchange, promise);
        }
    }

    private void writeCall(
            ChannelHandlerContext ctx, RpcRdmaExchange call, ChannelPromise promise) {
        ByteBuf send;
        try {
            send =
                    call.option == null
                            ? encoder.call(call)
                            : encoder.option(call, connection.requesterCredits().requested());
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
        if (call.option == null) {
            metrics.countCall(call.header, call.isLong);
        }
        ctx.write(send, promise);
    }

    private void writeCompletion(
            ChannelHandlerContext ctx, PullCompletion completion, ChannelPromise promise) {
        metrics.increment(RpcRdmaCounter.PULL_COMPLETIONS_SENT);
        ctx.write(completion.encode(connection), promise);
    }

    private Exception writeFailure(Exception cause) {
        if (!connection.channel().isActive()) {
            return new NotSentException(); // closed, and channelInactive is on its way
        }
        return cause instanceof RpcRdmaException ? cause : new MarshalException(cause);
    }

    private void writeReply(
            ChannelHandlerContext ctx, RpcRdmaExchange reply, ChannelPromise promise) {
        TransportHeader header = reply.header;
        ByteBuf send;
        try {
            send =
                    reply.option == null
                            ? encoder.reply(reply)
                            : encoder.option(reply, connection.grants().next());
        } catch (Exception e) {
            // The requester has to know that no reply comes (RFC 8166, 4.5.4).
            connection.finish(reply);
            promise.tryFailure(e);
            connection.closeNow("a reply could not be built", e);
            return;
        }
        metrics.increment(RpcRdmaCounter.REPLIES_SENT);
        connection.replySent(reply.protocol);
        if (header.reads().segments() > 0) {
            metrics.increment(RpcRdmaCounter.READ_CHUNK_REPLIES);
        } else if (reply.isLong) {
            metrics.increment(RpcRdmaCounter.LONG_REPLIES);
        } else if (reply.option == null
                && header.writes().chunks() == 0
                && !header.reply().isPresent()) {
            metrics.increment(RpcRdmaCounter.SHORT_MESSAGES);
        }
        ReplyWork work = connection.replyWork(reply.xid);
        Object message = reply.mayInvalidate ? new RdmaSend(send, reply.invalidateHandle) : send;
        connection.finish(reply);
        ctx.write(message, promise.unvoid().addListener(work));
    }
}
