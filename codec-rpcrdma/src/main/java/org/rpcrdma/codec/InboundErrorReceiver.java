// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.codec.wire.RdmaErrorMessage;
import org.rpcrdma.codec.wire.TransportHeader;
import org.rpcrdma.codec.wire.WriteList;

/** Receives RDMA_ERROR at a requester (RFC 8166, 4.5); an error is never answered. */
final class InboundErrorReceiver {

    private final ConnectionSharedState link;
    private final RequesterState requester;
    private final OutboundCallAndReplyRoomCalculator sizes;

    InboundErrorReceiver(ConnectionSharedState link, RequesterState requester) {
        this.link = link;
        this.requester = requester;
        sizes = new OutboundCallAndReplyRoomCalculator(link);
    }

    /** Returns the call that has failed; {@code null} when the error was dropped. */
    OutboundCallState receive(ByteBuf message, TransportHeader header) {
        RdmaErrorMessage error = RdmaErrorMessage.decode(message);
        OutboundCallState call = requester.unanswered(header.xid());
        if (error == null && !isFirstOfVersionTwo(header.xid())) {
            link.drop(
                    RpcRdmaCounter.DROPPED_ERROR, header.xid(), "RDMA_ERROR that does not decode");
            return null;
        }
        if (call == null) {
            link.drop(
                    RpcRdmaCounter.DROPPED_UNKNOWN_XID, header.xid(), "RDMA_ERROR without a call");
            return null;
        }
        String problem = error == null ? null : problem(error, call);
        if (problem != null) {
            link.drop(RpcRdmaCounter.DROPPED_ERROR, header.xid(), problem);
            return null;
        }
        link.metrics.increment(RpcRdmaCounter.ERRORS_RECEIVED);
        call.answered(header.credit());
        if (error == null) {
            // Whatever the error means, the responder does not speak this version 2: do not wait
            // for the timeout.
            link.problem(header.xid(), "RDMA_ERROR that does not decode", "no version 2");
            int one = TransportHeader.VERSION_ONE;
            call.reply.refused(new ErrVersReplyException(one, one));
        } else {
            call.reply.refused(exception(error, call));
        }
        return call;
    }

    /** Whether the error answers the probe for version 2 (draft, 5), until then the only call in flight. */
    private boolean isFirstOfVersionTwo(int xid) {
        return requester.call(xid) != null && !link.isServer && !link.versions.isSettled();
    }

    /** Reason why the error does not match the call; {@code null} if it matches. */
    private static String problem(RdmaErrorMessage error, OutboundCallState call) {
        if (error.isEmptyRange()) {
            return "ERR_VERS with an empty range";
        }
        return error.code() == RdmaErrorMessage.INVAL_OPTION && call.request.option == null
                ? "INVAL_OPTION for a call that is no option"
                : null;
    }

    private RpcRdmaException exception(RdmaErrorMessage error, OutboundCallState call) {
        return switch (error.code()) {
            case RdmaErrorMessage.ERR_VERS ->
                    new ErrVersReplyException(error.lowest(), error.highest());
            case RdmaErrorMessage.INVAL_OPTION ->
                    new OptionalOperationUnsupportedByPeerException(call.request.option.type());
            default -> remoteChunkException(call);
        };
    }

    private ErrChunkReplyException remoteChunkException(OutboundCallState call) {
        WriteList writes = call.header.writes();
        return new ErrChunkReplyException(
                call.protocol.receiveThreshold,
                writes.sum(0, writes.segments()),
                call.header.reply().chunkLength(),
                call.request.replyLimit(),
                sizes.mayGrow(call),
                sizes.coversReply(call));
    }
}
