// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import org.rpcrdma.codec.wire.InboundRpcMessageType;
import org.rpcrdma.codec.wire.TransportHeader;

/** Decodes optional operations of version 2, and matches replies to their calls. */
final class InboundOptionalOperationReceiver {

    private final ConnectionSharedState link;
    private final RequesterState requester;
    private final ResponderState responder;
    private final ConnectionMetrics metrics;
    private final InboundMessageRefuser errors;

    InboundOptionalOperationReceiver(RpcRdmaConnection connection, InboundMessageRefuser errors) {
        link = connection.link();
        requester = connection.requester();
        responder = connection.responder();
        this.metrics = link.metrics;
        this.errors = errors;
    }

    /**
     * RDMA2_OPTIONAL (draft, 3.1 and 4.2.2).
     *
     * @return whether ownership of the message was transferred
     */
    boolean receive(
            ChannelHandlerContext ctx,
            ByteBuf message,
            TransportHeader header,
            InboundRpcMessageType messageType) {
        int type = OptionalOperationMessage.type(message);
        OptionalOperationHandler handler = link.config().versionTwo().option(type);
        boolean isReply = messageType == InboundRpcMessageType.REPLY;
        if (messageType != InboundRpcMessageType.UNKNOWN && handler == null) {
            receiveUnknown(ctx, header, type, isReply);
            return false;
        }
        String problem =
                messageType == InboundRpcMessageType.UNKNOWN
                        ? "option that is neither a call nor a reply"
                        : OptionalOperationMessage.problem(message, isReply, handler.payload());
        if (problem != null) {
            errors.refuse(
                    ctx,
                    header,
                    errors.ofHeader(messageType, RpcRdmaCounter.DROPPED_BAD_REPLY, problem));
            return false;
        }
        return isReply
                ? receiveReply(ctx, message, header, type)
                : receiveCall(ctx, message, header);
    }

    /** Answers calls only: an error could match an outbound call with the same XID (draft, 4.2.2). */
    private void receiveUnknown(
            ChannelHandlerContext ctx, TransportHeader header, int type, boolean isReply) {
        InboundMessageRefusal refusal = InboundMessageRefusal.unknownOption(type);
        errors.refuse(
                ctx,
                header,
                isReply
                        ? InboundMessageRefusal.drop(
                                RpcRdmaCounter.DROPPED_PROCEDURE, refusal.problem())
                        : refusal);
    }

    private boolean receiveCall(
            ChannelHandlerContext ctx, ByteBuf message, TransportHeader header) {
        InboundMessageRefusal refusal = errors.ofCall(header);
        if (refusal != null) {
            errors.refuse(ctx, header, refusal);
            return false;
        }
        InboundCallState call = responder.newCall(header.xid(), header.version());
        call.request.takeOption(OptionalOperationMessage.decode(message, false));
        metrics.increment(RpcRdmaCounter.CALLS_RECEIVED);
        ctx.fireChannelRead(call);
        return true;
    }

    private boolean receiveReply(
            ChannelHandlerContext ctx, ByteBuf message, TransportHeader header, int type) {
        OutboundCallState call = requester.unanswered(header.xid());
        OptionalOperationMessage asked = call == null ? null : call.request.option;
        if (asked == null || asked.type() != type) {
            link.drop(
                    RpcRdmaCounter.DROPPED_UNKNOWN_XID,
                    header.xid(),
                    "reply to an option that was not called");
            return false;
        }
        call.answered(header.credit());
        call.reply.option(OptionalOperationMessage.decode(message, true));
        metrics.increment(RpcRdmaCounter.REPLIES_RECEIVED);
        ctx.fireChannelRead(call);
        return true;
    }
}
