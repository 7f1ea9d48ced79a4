// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import org.rpcrdma.channel.RdmaSendWithInvalidate;
import org.rpcrdma.codec.wire.Direction;
import org.rpcrdma.codec.wire.RpcCallHeader;
import org.rpcrdma.codec.wire.TransportError;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Transport headers (RFC 8166, 4): takes each Send apart, answers or drops what is wrong with it (4.5), and finds the
 * call it belongs to; sends calls and replies. The chunks of a call are exposed here, just before its Send, and
 * fenced here, before anybody looks at the reply (4.4.1). What only its payload can tell from the other direction is
 * pulled here (RFC 8167, 4.1).
 */
final class RpcRdmaHeaderCodec extends CodecStageHandler {

    private final RpcRdmaConnection connection;
    private final ConnectionContext link;
    private final Requester requester;
    private final Responder responder;
    private final ConnectionMetrics metrics;
    private final OutboundTransportErrors errors;
    private final InboundErrorReceiver receivedErrors;
    private final InboundCallReceiver calls;
    private final InboundReplyReceiver replies;
    private final UnclassifiedMessages undetermined;
    private final InboundOptionMessages options;
    private final SendEncoder sends;
    private final OutboundCallEncoder encoder;

    /** The header of the message that is being handled: its lists are exchanged for those of the call it belongs to. */
    private final TransportHeader received = new TransportHeader();

    RpcRdmaHeaderCodec(RpcRdmaConnection connection) {
        this.connection = connection;
        link = connection.link();
        requester = connection.requester();
        responder = connection.responder();
        metrics = link.metrics();
        sends = new SendEncoder(link);
        encoder = new OutboundCallEncoder(link, requester, sends);
        errors = new OutboundTransportErrors(connection);
        receivedErrors = new InboundErrorReceiver(link, requester);
        options = new InboundOptionMessages(connection, errors);
        InboundHeaderValidator checks = new InboundHeaderValidator(link);
        calls = new InboundCallReceiver(connection, checks, errors);
        replies = new InboundReplyReceiver(link, requester, connection.pulls(), checks, encoder);
        undetermined = new UnclassifiedMessages(connection, checks, errors, calls, replies);
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        super.handlerAdded(ctx);
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
        link.flushNow(ctx);
    }

    // ------------------------------------------------------------------ received

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object read) {
        if (!(read instanceof ByteBuf message)) {
            toUser(read);
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
            link.drop(RpcRdmaCounter.DROPPED_SHORT, 0, "message of " + length + " bytes");
            return false;
        }
        TransportHeader header = received;
        header.decodeFixed(message, message.readerIndex());
        if (isCompletion(message, header)) {
            boolean isExpected = responder.waiting().complete(header.xid());
            metrics.increment(
                    isExpected
                            ? RpcRdmaCounter.PULL_COMPLETIONS_RECEIVED
                            : RpcRdmaCounter.DROPPED_COMPLETIONS);
            responder.grants().received();
            return false;
        }
        boolean isError = header.proc() == TransportHeader.RDMA_ERROR;
        if (length < (isError ? TransportError.ERR_CHUNK_BYTES : TransportHeader.MINIMUM_BYTES)) {
            link.drop(
                    RpcRdmaCounter.DROPPED_SHORT, header.xid(), "message of " + length + " bytes");
            return false;
        }
        if (isError) {
            receiveError(message, header);
            return false;
        }
        if (!link.versions().speaks(header.version())) {
            errors.otherVersion(ctx, header);
            return false;
        }
        return receiveProcedure(ctx, message, header);
    }

    private boolean isCompletion(ByteBuf message, TransportHeader header) {
        return responder.waiting() != null
                && link.versions().speaks(header.version())
                && OutboundPullCompletion.isIn(header, message, link.readChunkReplies());
    }

    private void receiveError(ByteBuf message, TransportHeader header) {
        OutboundCall call = receivedErrors.receive(message, header);
        if (call == null) {
            return;
        }
        RpcRdmaException failure = call.failure;
        toUser(call);
        if (failure instanceof UnsupportedVersionException range
                && !link.versions().speaksAny(range.lowest(), range.highest())) {
            link.closeNow(
                    "the responder speaks versions "
                            + Integer.toUnsignedString(range.lowest())
                            + " to "
                            + Integer.toUnsignedString(range.highest()),
                    null);
        }
    }

    private boolean receiveProcedure(
            ChannelHandlerContext ctx, ByteBuf message, TransportHeader header) {
        int proc = header.proc();
        if (header.version() == TransportHeader.VERSION_ONE && proc == TransportHeader.RDMA_DONE) {
            link.drop(RpcRdmaCounter.DROPPED_PROCEDURE, header.xid(), "RDMA_DONE");
            return false;
        }
        Direction direction = Direction.fromHeader(header, message);
        if (header.version() == TransportHeader.VERSION_TWO
                && proc == TransportHeader.RDMA2_OPTIONAL) {
            return options.receive(ctx, message, header, direction);
        }
        if (proc != TransportHeader.RDMA_MSG && proc != TransportHeader.RDMA_NOMSG) {
            errors.badMessage(
                    ctx,
                    header,
                    direction,
                    RpcRdmaCounter.DROPPED_PROCEDURE,
                    "procedure " + Integer.toUnsignedString(proc));
            return false;
        }
        int payload =
                header.decodeLists(
                        message,
                        message.readerIndex() + TransportHeader.FIXED_BYTES,
                        message.writerIndex(),
                        link.config().maxSegmentsPerMessage());
        if (payload < 0) {
            errors.badMessage(
                    ctx, header, direction, RpcRdmaCounter.DROPPED_BAD_REPLY, header.problem());
            return false;
        }
        return receiveMessage(ctx, message, header, payload);
    }

    private boolean receiveMessage(
            ChannelHandlerContext ctx, ByteBuf message, TransportHeader header, int payload) {
        if (undetermined.covers(header)) {
            undetermined.receive(ctx, message, header, payload);
            return false;
        }
        Direction direction =
                header.version() == TransportHeader.VERSION_ONE
                                && undetermined.isPulledReply(header)
                        ? Direction.REPLY
                        : Direction.of(header, message, payload);
        if (direction == Direction.REPLY
                && !requester.isOpen()
                && header.version() == TransportHeader.VERSION_ONE
                && header.proc() == TransportHeader.RDMA_NOMSG) {
            // Only its lists have said so, and nothing was called from here.
            errors.refuse(ctx, header, "long call without a Position Zero Read chunk");
            return false;
        }
        switch (direction) {
            case CALL -> {
                InboundCall call = calls.receive(ctx, message, header, payload);
                if (call != null) {
                    boolean isTaken = !call.isLong;
                    toUser(call);
                    return isTaken;
                }
            }
            case REPLY -> {
                OutboundCall call = replies.receive(ctx, message, header, payload);
                if (call != null) {
                    boolean isTaken = !call.isLong;
                    toUser(call);
                    return isTaken;
                }
            }
            case UNKNOWN ->
                    errors.badMessage(
                            ctx,
                            header,
                            direction,
                            RpcRdmaCounter.DROPPED_BAD_REPLY,
                            "neither a call nor a reply");
        }
        return false;
    }

    // ------------------------------------------------------------------ sent

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (message instanceof OutboundPullCompletion completion) {
            toNetwork(encoder.encode(completion), promise);
        } else if (message instanceof OutboundCall call) {
            writeCall(call, promise);
        } else if (!(message instanceof InboundCall call)) {
            toNetwork(message, promise);
        } else if (call.isRejected) {
            metrics.callEnded(
                    RpcRdmaRole.RESPONDER,
                    call.procedureName,
                    CallOutcome.REFUSED,
                    call.startNanos);
            errors.reject(ctx, call, promise);
        } else {
            writeReply(call, promise);
        }
    }

    private void writeCall(OutboundCall call, ChannelPromise promise) {
        ByteBuf send;
        try {
            send = encoder.encode(call);
        } catch (Throwable t) {
            // This call fails, and nothing else (RFC 8166, 4.5.4).
            requester.credits().notSent();
            requester.publishCredits();
            requester.fail(call, promise, writeFailure(t));
            return;
        }
        call.state = OutboundCall.State.SENT;
        metrics.increment(RpcRdmaCounter.CALLS_SENT);
        if (call.option == null) {
            metrics.countCall(RpcRdmaRole.REQUESTER, call.header, call.isLong);
        }
        toNetwork(send, promise);
    }

    private Exception writeFailure(Throwable cause) {
        if (!link.channel().isActive()) {
            return new NotSentException(); // closed, and channelInactive is on its way
        }
        return cause instanceof RpcRdmaException known ? known : new MarshalException(cause);
    }

    private void writeReply(InboundCall call, ChannelPromise promise) {
        ByteBuf send;
        try {
            send = encodeReply(call);
        } catch (Throwable t) {
            responder.lose(call, promise, t);
            return;
        }
        metrics.increment(RpcRdmaCounter.REPLIES_SENT);
        if (call.option == null) {
            metrics.countReplyForm(RpcRdmaRole.RESPONDER, call.header, call.isLong);
        }
        metrics.callEnded(
                RpcRdmaRole.RESPONDER, call.procedureName, CallOutcome.REPLIED, call.startNanos);
        responder.replySent(call.protocol);
        OutboundReplyCompletion work = responder.work(call.xid);
        Object message =
                call.mayInvalidate ? new RdmaSendWithInvalidate(send, call.invalidateHandle) : send;
        responder.finish(call);
        toNetwork(message, work.behind(promise));
    }

    /** The Send of a reply whose chunks are written, and whose lists have the lengths. */
    private ByteBuf encodeReply(InboundCall call) throws CallTooLongException {
        int credit = responder.nextGrant();
        if (call.option != null) {
            return sends.option(call.protocol, call.option, credit);
        }
        call.header.set(
                call.xid,
                call.protocol.number(),
                credit,
                call.isLong ? TransportHeader.RDMA_NOMSG : TransportHeader.RDMA_MSG,
                RpcCallHeader.REPLY);
        return sends.message(RpcRdmaRole.RESPONDER, call.protocol, call.header, call.reply);
    }
}
