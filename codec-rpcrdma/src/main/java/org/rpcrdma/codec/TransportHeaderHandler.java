// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import java.nio.channels.ClosedChannelException;
import org.rpcrdma.codec.wire.InboundRpcMessageType;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.RdmaErrorMessage;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Transport headers (RFC 8166, 4): decodes each Send, answers or drops invalid ones (4.5), and matches replies to
 * calls; encodes calls and replies. Exposes the chunks of a call just before its Send, and invalidates them before the
 * reply is read (4.4.1). Pulls messages that only the payload tells to be a call or a reply (RFC 8167, 4.1).
 */
final class TransportHeaderHandler extends DirectlyLinkedStageHandler {

    private final RpcRdmaConnection connection;
    private final ConnectionSharedState link;
    private final RequesterState requester;
    private final ResponderState responder;
    private final ConnectionMetrics metrics;
    private final InboundMessageRefuser errors;
    private final InboundErrorReceiver receivedErrors;
    private final InboundCallAdmission calls;
    private final InboundReplyReceiver replies;
    private final UnclassifiedLongMessageReceiver unclassified;
    private final InboundOptionalOperationReceiver options;
    private final SendEncoder sends;
    private final OutboundCallEncoder encoder;

    /** Header of the current message. Exchanges its lists with those of the matching call. */
    private final TransportHeader received = new TransportHeader();

    TransportHeaderHandler(RpcRdmaConnection connection) {
        this.connection = connection;
        link = connection.link();
        requester = connection.requester();
        responder = connection.responder();
        metrics = link.metrics;
        sends = new SendEncoder(link);
        encoder = new OutboundCallEncoder(link, requester, sends);
        errors = new InboundMessageRefuser(connection);
        receivedErrors = new InboundErrorReceiver(link, requester);
        options = new InboundOptionalOperationReceiver(connection, errors);
        InboundChunkListValidator checks = new InboundChunkListValidator(link);
        calls = new InboundCallAdmission(connection, checks, errors);
        replies = new InboundReplyReceiver(link, requester, checks, encoder);
        unclassified =
                new UnclassifiedLongMessageReceiver(connection, checks, errors, calls, replies);
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
     * Decodes a message; the order of the checks is that of RFC 8166, 4.5.
     *
     * @return whether ownership of the message was transferred
     */
    private boolean dispatch(ChannelHandlerContext ctx, ByteBuf message) {
        int length = message.readableBytes();
        if (length < TransportHeader.DONE_BYTES) {
            link.drop(RpcRdmaCounter.DROPPED_SHORT, 0, "message of " + length + " bytes");
            return false;
        }
        TransportHeader header = received;
        header.decodeStart(message, message.readerIndex(), message.writerIndex());
        if (header.isPlain) {
            // The common case: none of the cases below, and no lists.
            header.clear();
            return receiveMessage(
                    ctx,
                    message,
                    header,
                    message.readerIndex() + TransportHeader.MINIMUM_BYTES,
                    header.payloadDirection());
        }
        int proc = header.proc();
        boolean mayBeCompletion =
                proc == TransportHeader.RDMA_DONE || proc == TransportHeader.RDMA2_OPTIONAL;
        if (mayBeCompletion && isCompletion(message, header)) {
            boolean isExpected = responder.waiting().tryComplete(header.xid());
            metrics.increment(
                    isExpected
                            ? RpcRdmaCounter.PULL_COMPLETIONS_RECEIVED
                            : RpcRdmaCounter.DROPPED_COMPLETIONS);
            responder.grants().received();
            return false;
        }
        boolean isError = proc == TransportHeader.RDMA_ERROR;
        // Of any version: the XID of a shorter message is not to be trusted (RFC 8166, 4.5).
        if (length < (isError ? RdmaErrorMessage.ERR_CHUNK_BYTES : TransportHeader.MINIMUM_BYTES)) {
            link.drop(
                    RpcRdmaCounter.DROPPED_SHORT, header.xid(), "message of " + length + " bytes");
            return false;
        }
        if (isError) {
            receiveError(message, header);
            return false;
        }
        if (!link.versions.speaks(header.version())) {
            errors.refuse(ctx, header, errors.ofVersion(header));
            return false;
        }
        return receiveProcedure(ctx, message, header);
    }

    private boolean isCompletion(ByteBuf message, TransportHeader header) {
        return responder.waiting() != null
                && link.versions.speaks(header.version())
                && RdmaDoneMessage.isIn(header, message, link.readChunkReplies());
    }

    private void receiveError(ByteBuf message, TransportHeader header) {
        OutboundCallState call = receivedErrors.receive(message, header);
        if (call == null) {
            return;
        }
        if (call.reply.failure instanceof ErrVersReplyException range
                && !link.versions.speaksAny(range.lowest(), range.highest())) {
            requester.credits.end(); // calls that wait would be refused too (RFC 8166, 4.5.1)
            toUser(call);
            link.closeNow(
                    "the responder speaks versions "
                            + Integer.toUnsignedString(range.lowest())
                            + " to "
                            + Integer.toUnsignedString(range.highest()),
                    null);
        } else {
            toUser(call);
        }
    }

    private boolean receiveProcedure(
            ChannelHandlerContext ctx, ByteBuf message, TransportHeader header) {
        int proc = header.proc();
        boolean isVersionOne = header.version() == TransportHeader.VERSION_ONE;
        if (isVersionOne && proc == TransportHeader.RDMA_DONE) {
            link.drop(RpcRdmaCounter.DROPPED_PROCEDURE, header.xid(), "RDMA_DONE");
            return false;
        }
        InboundRpcMessageType messageType =
                isVersionOne
                        ? InboundRpcMessageType.UNKNOWN
                        : InboundRpcMessageType.fromHeader(header, message);
        if (!isVersionOne && proc == TransportHeader.RDMA2_OPTIONAL) {
            return options.receive(ctx, message, header, messageType);
        }
        if (proc != TransportHeader.RDMA_MSG && proc != TransportHeader.RDMA_NOMSG) {
            String what = "procedure " + Integer.toUnsignedString(proc);
            errors.refuse(
                    ctx,
                    header,
                    errors.ofHeader(messageType, RpcRdmaCounter.DROPPED_PROCEDURE, what));
            return false;
        }
        int payload =
                header.decodeLists(
                        message,
                        message.readerIndex() + TransportHeader.FIXED_BYTES,
                        message.writerIndex(),
                        link.config().maxSegmentsPerMessage());
        if (payload < 0) {
            errors.refuse(
                    ctx,
                    header,
                    errors.ofHeader(
                            messageType, RpcRdmaCounter.DROPPED_BAD_REPLY, header.problem()));
            return false;
        }
        return receiveMessage(ctx, message, header, payload);
    }

    private boolean receiveMessage(
            ChannelHandlerContext ctx, ByteBuf message, TransportHeader header, int payload) {
        boolean isNomsgOne =
                header.proc() == TransportHeader.RDMA_NOMSG
                        && header.version() == TransportHeader.VERSION_ONE;
        if (isNomsgOne && unclassified.covers(header)) {
            unclassified.receive(ctx, message, header, payload);
            return false;
        }
        InboundRpcMessageType messageType =
                isNomsgOne && unclassified.isPulledReply(header)
                        ? InboundRpcMessageType.REPLY
                        : InboundRpcMessageType.of(header, message, payload);
        if (isNomsgOne && messageType == InboundRpcMessageType.REPLY && requester.credits == null) {
            // Only its lists suggested a reply, and no such call was sent.
            String what = "long call without a Position Zero Read chunk";
            errors.refuse(ctx, header, InboundMessageRefusal.chunkError(what));
            return false;
        }
        return receiveMessage(ctx, message, header, payload, messageType);
    }

    private boolean receiveMessage(
            ChannelHandlerContext ctx,
            ByteBuf message,
            TransportHeader header,
            int payload,
            InboundRpcMessageType messageType) {
        switch (messageType) {
            case CALL -> {
                InboundCallState call = calls.receive(ctx, message, header, payload);
                if (call != null) {
                    boolean isTaken = !call.request.isLong;
                    toUser(call);
                    return isTaken;
                }
            }
            case REPLY -> {
                OutboundCallState call = replies.receive(ctx, message, header, payload);
                if (call != null) {
                    boolean isTaken = !call.reply.isLong;
                    toUser(call);
                    return isTaken;
                }
            }
            case UNKNOWN ->
                    errors.refuse(
                            ctx,
                            header,
                            errors.ofHeader(
                                    messageType,
                                    RpcRdmaCounter.DROPPED_BAD_REPLY,
                                    "neither a call nor a reply"));
        }
        return false;
    }

    // ------------------------------------------------------------------ sent

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (message instanceof RdmaDoneMessage completion) {
            writeCompletion(completion, promise);
        } else if (message instanceof OutboundCallState call) {
            writeCall(call, promise);
        } else if (!(message instanceof InboundCallState call)) {
            toNetwork(message, promise);
        } else if (call.reply.refusal != null) {
            metrics.callEnded(
                    RpcRdmaRole.RESPONDER,
                    call.request.procedureName,
                    RpcRdmaCallOutcome.REFUSED,
                    call.request.startNanos);
            errors.answer(ctx, call, promise);
        } else {
            writeReply(call, promise);
        }
    }

    private void writeCompletion(RdmaDoneMessage completion, ChannelPromise promise) {
        Object send = encoder.encode(completion);
        if (send == null) {
            promise.tryFailure(new ClosedChannelException());
        } else {
            toNetwork(send, promise);
        }
    }

    private void writeCall(OutboundCallState call, ChannelPromise promise) {
        ByteBuf send;
        try {
            send = encoder.encode(call);
        } catch (Throwable t) {
            // Only this call fails (RFC 8166, 4.5.4).
            requester.notSent(call, promise, writeFailure(t));
            return;
        }
        call.sent();
        metrics.increment(RpcRdmaCounter.CALLS_SENT);
        if (call.request.option == null) {
            boolean isLong = call.request.form == OutboundCallTransferForm.LONG;
            metrics.countCall(RpcRdmaRole.REQUESTER, call.header, isLong);
        }
        toNetwork(send, promise);
    }

    private Exception writeFailure(Throwable cause) {
        if (!link.channel.isActive()) {
            return new CallNotSentException(); // closed, and channelInactive is on its way
        }
        return cause instanceof RpcRdmaException known ? known : new MarshalException(cause);
    }

    private void writeReply(InboundCallState call, ChannelPromise promise) {
        ByteBuf send;
        try {
            send = encodeReply(call);
        } catch (Throwable t) {
            responder.lose(call, promise, t);
            return;
        }
        metrics.increment(RpcRdmaCounter.REPLIES_SENT);
        if (call.reply.option == null) {
            boolean isLong = call.reply.form.isLong();
            metrics.countReplyForm(RpcRdmaRole.RESPONDER, call.chunks.header, isLong);
        }
        metrics.callEnded(
                RpcRdmaRole.RESPONDER,
                call.request.procedureName,
                RpcRdmaCallOutcome.REPLIED,
                call.request.startNanos);
        responder.replySent(call.protocol);
        CloseOnFailureReplyPromise work = responder.work(call.xid);
        Object message = call.chunks.toSend(send);
        responder.finish(call);
        toNetwork(message, work.behind(promise));
    }

    /** Builds the Send of a reply. Its chunks are written, and its lists contain the lengths. */
    private ByteBuf encodeReply(InboundCallState call) throws CallTooLongException {
        int credit = responder.nextGrant();
        if (call.reply.option != null) {
            return sends.option(call.protocol, call.reply.option, credit);
        }
        TransportHeader header = call.chunks.header;
        header.set(
                call.xid,
                call.protocol.number,
                credit,
                call.reply.form.procedure,
                OncRpcHeaderDecoder.REPLY);
        return sends.message(RpcRdmaRole.RESPONDER, call.protocol, header, call.reply.payload);
    }
}
