// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.codec.wire.TransportError;
import org.rpcrdma.codec.wire.TransportHeader;
import org.rpcrdma.codec.wire.WriteList;

/** RDMA_ERROR as a requester takes it (RFC 8166, 4.5): nobody ever answers one. */
final class InboundErrorReceiver {

    private final ConnectionContext link;
    private final RequesterState requester;
    private final OutboundCallSizes sizes;

    InboundErrorReceiver(ConnectionContext link, RequesterState requester) {
        this.link = link;
        this.requester = requester;
        sizes = new OutboundCallSizes(link);
    }

    /** Gives back the call that has failed; {@code null} when the error was dropped. */
    OutboundCall receive(ByteBuf message, TransportHeader header) {
        TransportError error = TransportError.decode(message);
        OutboundCall call = requester.unanswered(header.xid());
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
        link.metrics().increment(RpcRdmaCounter.ERRORS_RECEIVED);
        call.answered(header.credit());
        if (error == null) {
            // Whatever it means, it is no version 2 that is spoken here, and says so at once.
            link.problem(header.xid(), "RDMA_ERROR that does not decode", "no version 2");
            int one = TransportHeader.VERSION_ONE;
            call.reply.refused(new UnsupportedVersionException(one, one));
        } else {
            call.reply.refused(exception(error, call));
        }
        return call;
    }

    /** Whether it asks the responder for version 2 (draft, 5): nothing else is out until that is answered. */
    private boolean isFirstOfVersionTwo(int xid) {
        return requester.call(xid) != null && !link.isServer() && !link.versions().isSettled();
    }

    /** Why the error is none to this call; {@code null} when it is one. */
    private static String problem(TransportError error, OutboundCall call) {
        if (error.isEmptyRange()) {
            return "ERR_VERS with an empty range";
        }
        return error.code() == TransportError.INVAL_OPTION && !call.request.isOption()
                ? "INVAL_OPTION for a call that is no option"
                : null;
    }

    private RpcRdmaException exception(TransportError error, OutboundCall call) {
        return switch (error.code()) {
            case TransportError.ERR_VERS ->
                    new UnsupportedVersionException(error.lowest(), error.highest());
            case TransportError.INVAL_OPTION ->
                    new UnknownOptionException(call.request.option().type());
            default -> remoteChunkException(call);
        };
    }

    private RemoteChunkException remoteChunkException(OutboundCall call) {
        WriteList writes = call.header.writes();
        return new RemoteChunkException(
                call.protocol().receiveThreshold(),
                writes.sum(0, writes.segments()),
                call.header.reply().chunkLength(),
                call.request.replyLimit(),
                sizes.mayGrow(call),
                sizes.coversReply(call));
    }
}
