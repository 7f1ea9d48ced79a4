// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import java.nio.channels.ClosedChannelException;
import org.rpcrdma.codec.wire.InboundRpcMessageType;
import org.rpcrdma.codec.wire.RdmaErrorMessage;
import org.rpcrdma.codec.wire.TransportHeader;

/** Decides which messages are refused because of their header, and answers refused calls (RFC 8166, 4.5). */
final class InboundMessageRefuser {

    private final ConnectionSharedState link;
    private final RequesterState requester;
    private final ResponderState responder;
    private final AnswersInFlight inFlight = new AnswersInFlight();

    InboundMessageRefuser(RpcRdmaConnection connection) {
        link = connection.link();
        requester = connection.requester();
        responder = connection.responder();
    }

    /** Reason to refuse a call that cannot be served here, or is in progress; {@code null} to serve it. */
    InboundMessageRefusal ofCall(TransportHeader call) {
        if (responder.credits == null) {
            return InboundMessageRefusal.drop(
                    RpcRdmaCounter.DROPPED_UNEXPECTED_CALL, "call at a requester");
        }
        if (responder.call(call.xid()) != null) {
            return InboundMessageRefusal.drop(
                    RpcRdmaCounter.DROPPED_DUPLICATE_XID, "call that is in progress");
        }
        return null;
    }

    /**
     * Reason to refuse a call because it has chunks; {@code null} if it may have them.
     *
     * @param isCall {@code false} for a message that may be the reply to an outbound call with this XID
     */
    InboundMessageRefusal ofChunks(TransportHeader header, boolean isCall) {
        if (!header.hasChunks()) {
            return null;
        }
        if (isCall && link.isFatal(header.xid())) {
            return InboundMessageRefusal.chunkError(
                    RpcRdmaCounter.FATAL_XIDS_REFUSED, "call that has ended an earlier connection");
        }
        if (!link.takesChunks()) {
            return InboundMessageRefusal.chunkError(
                    "reverse call with chunks (expected: three empty lists)");
        }
        return null;
    }

    /** Refusal of a message in an unsupported version: answered if it may be a call (RFC 8166, 4.5.1). */
    InboundMessageRefusal ofVersion(TransportHeader header) {
        boolean isAnswered =
                link.isServer
                        || (responder.credits != null && requester.call(header.xid()) == null);
        InboundMessageRefusal refusal = InboundMessageRefusal.unsupportedVersion(header.version());
        return isAnswered
                ? refusal
                : InboundMessageRefusal.drop(RpcRdmaCounter.DROPPED_VERSION, refusal.problem());
    }

    /**
     * Refusal of a message with a bad header: only calls are answered. A message that may be a call or a reply counts
     * as a call at the accepting side.
     *
     * @param dropped counter for a message that is not a call
     */
    InboundMessageRefusal ofHeader(
            InboundRpcMessageType messageType, RpcRdmaCounter dropped, String what) {
        boolean isCall =
                messageType == InboundRpcMessageType.UNKNOWN
                        ? link.isServer
                        : messageType == InboundRpcMessageType.CALL && responder.credits != null;
        return isCall
                ? InboundMessageRefusal.chunkError(what)
                : InboundMessageRefusal.drop(dropped, what);
    }

    /** Refuses a message that has neither state nor a credit here. */
    void refuse(ChannelHandlerContext ctx, TransportHeader header, InboundMessageRefusal refusal) {
        link.report(header.xid(), refusal);
        switch (refusal.answer()) {
            case ERR_VERS -> sendVersions(ctx, header);
            case ERR_CHUNK ->
                    sendError(ctx, header, RdmaErrorMessage.ERR_CHUNK, responder.chunkErrorSent());
            case INVAL_OPTION ->
                    sendError(
                            ctx,
                            header,
                            RdmaErrorMessage.INVAL_OPTION,
                            ChannelFutureListener.CLOSE_ON_FAILURE);
            default -> {} // no answer
        }
    }

    private void sendVersions(ChannelHandlerContext ctx, TransportHeader header) {
        responder.refused();
        ByteBuf out = bufferOfError(RdmaErrorMessage.ERR_VERS_BYTES);
        if (out != null) {
            RdmaErrorMessage.encodeVersions(
                    out, header.xid(), header.version(), grant(), link.versions.highest());
            sendError(ctx, out, ChannelFutureListener.CLOSE_ON_FAILURE);
        }
    }

    private void sendError(
            ChannelHandlerContext ctx,
            TransportHeader header,
            int code,
            ChannelFutureListener then) {
        responder.refused();
        ByteBuf out = bufferOfError(RdmaErrorMessage.ERR_CHUNK_BYTES);
        if (out != null) {
            RdmaErrorMessage.encode(out, header.xid(), header.version(), grant(), code);
            sendError(ctx, out, then);
        }
    }

    /**
     * Allocates a Send; {@code null} for lack of memory, which closes the connection so that the requester learns of it
     * (4.5.4).
     */
    private ByteBuf buffer(int bytes) {
        try {
            return link.buffer(bytes);
        } catch (Throwable t) {
            link.closeNow("an error message could not be built", t);
            return null;
        }
    }

    /** As {@link #buffer}, unless the peer takes no errors. */
    private ByteBuf bufferOfError(int bytes) {
        if (inFlight.hasRoom(responder.credits == null ? 0 : responder.credits.maximum)) {
            return buffer(bytes);
        }
        link.closeNow("the peer takes none of the errors that answer its messages", null);
        return null;
    }

    private void sendError(ChannelHandlerContext ctx, ByteBuf out, ChannelFutureListener then) {
        ctx.write(out).addListener(inFlight.add()).addListener(then);
        link.flushes().request();
    }

    private int grant() {
        return responder.nextGrant();
    }

    /** ERR_CHUNK, or BAD_HEADER in version 2, in the place of a reply. Its refusal was already reported. */
    void answer(ChannelHandlerContext ctx, InboundCallState call, ChannelPromise promise) {
        ByteBuf out = buffer(RdmaErrorMessage.ERR_CHUNK_BYTES);
        if (out == null) {
            responder.finish(call);
            promise.tryFailure(new ClosedChannelException());
            return;
        }
        RdmaErrorMessage.encode(
                out, call.xid, call.protocol.number, grant(), RdmaErrorMessage.ERR_CHUNK);
        responder.finish(call);
        ctx.write(out, promise.unvoid().addListener(responder.chunkErrorSent()));
    }
}
