// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import java.nio.channels.ClosedChannelException;
import org.rpcrdma.codec.wire.Direction;
import org.rpcrdma.codec.wire.TransportError;
import org.rpcrdma.codec.wire.TransportHeader;

/** Answers calls with RDMA_ERROR, or drops what nobody may answer (RFC 8166, 4.5). */
final class OutboundTransportErrors {

    private final ConnectionContext link;
    private final Requester requester;
    private final Responder responder;
    private final ReadChunkPulls pulls;

    OutboundTransportErrors(RpcRdmaConnection connection) {
        link = connection.link();
        requester = connection.requester();
        responder = connection.responder();
        pulls = connection.pulls();
    }

    /** Whether a call may be served: here, and for the first time. It is dropped otherwise. */
    boolean takesCall(TransportHeader call) {
        if (!responder.isOpen()) {
            link.drop(RpcRdmaCounter.DROPPED_UNEXPECTED_CALL, call.xid(), "call at a requester");
            return false;
        }
        if (responder.call(call.xid()) != null || pulls.isUndetermined(call.xid())) {
            link.drop(RpcRdmaCounter.DROPPED_DUPLICATE_XID, call.xid(), "call that is in progress");
            return false;
        }
        return true;
    }

    /**
     * Whether a call may have the chunks that it has; it is answered otherwise.
     *
     * @param isCall {@code false} for what may be the reply that is awaited under this XID
     */
    boolean takesChunks(ChannelHandlerContext ctx, TransportHeader header, boolean isCall) {
        boolean hasChunks =
                header.reads().segments() > 0
                        || header.writes().chunks() > 0
                        || header.reply().isPresent();
        if (hasChunks && isCall && link.isFatal(header.xid())) {
            link.metrics().increment(RpcRdmaCounter.FATAL_XIDS_REFUSED);
            refuse(ctx, header, "call that has ended an earlier connection");
            return false;
        }
        if (hasChunks && !link.takesChunks()) {
            refuse(ctx, header, "reverse call with chunks (expected: three empty lists)");
            return false;
        }
        return true;
    }

    /** ERR_VERS, for what may be a call (RFC 8166, 4.5.1). */
    void otherVersion(ChannelHandlerContext ctx, TransportHeader header) {
        if (!link.isServer() && (!responder.isOpen() || requester.call(header.xid()) != null)) {
            link.drop(
                    RpcRdmaCounter.DROPPED_VERSION,
                    header.xid(),
                    "version " + Integer.toUnsignedString(header.version()));
            return;
        }
        link.metrics().increment(RpcRdmaCounter.VERSION_ERRORS_SENT);
        responder.refused();
        ByteBuf out = buffer(TransportError.ERR_VERS_BYTES);
        if (out != null) {
            TransportError.encodeVersions(
                    out, header.xid(), header.version(), grant(), link.versions().highest());
            sendError(ctx, out, ChannelFutureListener.CLOSE_ON_FAILURE);
        }
    }

    /** A header error: only calls are answered. What nothing tells apart is a call at the accepting side. */
    void badMessage(
            ChannelHandlerContext ctx,
            TransportHeader header,
            Direction direction,
            RpcRdmaCounter dropped,
            String what) {
        boolean isCall =
                direction == Direction.UNKNOWN
                        ? link.isServer()
                        : direction == Direction.CALL && responder.isOpen();
        if (isCall) {
            refuse(ctx, header, what);
        } else {
            link.drop(dropped, header.xid(), what);
        }
    }

    /** ERR_CHUNK, or BAD_HEADER in version 2, for a call that nothing is kept of (RFC 8166, 4.5.2). */
    void refuse(ChannelHandlerContext ctx, TransportHeader header, String what) {
        link.problem(header.xid(), what, "answered with ERR_CHUNK");
        refuse(ctx, header, TransportError.ERR_CHUNK, responder.chunkErrorSent());
    }

    void refuse(
            ChannelHandlerContext ctx,
            TransportHeader header,
            int code,
            ChannelFutureListener then) {
        responder.refused();
        ByteBuf out = buffer(TransportError.ERR_CHUNK_BYTES);
        if (out != null) {
            TransportError.encode(out, header.xid(), header.version(), grant(), code);
            sendError(ctx, out, then);
        }
    }

    /** {@code null} when there is no memory: then the requester learns by the end of the connection (4.5.4). */
    private ByteBuf buffer(int bytes) {
        try {
            return link.buffer(bytes);
        } catch (Throwable t) {
            link.closeNow("an error message could not be built", t);
            return null;
        }
    }

    private void sendError(ChannelHandlerContext ctx, ByteBuf out, ChannelFutureListener then) {
        ctx.write(out).addListener(then);
        link.flushes().request();
    }

    private int grant() {
        return responder.nextGrant();
    }

    /** ERR_CHUNK, or BAD_HEADER in version 2, for a call that the stages know. */
    void reject(ChannelHandlerContext ctx, InboundCall call, ChannelPromise promise) {
        ByteBuf out = buffer(TransportError.ERR_CHUNK_BYTES);
        if (out == null) {
            responder.finish(call);
            promise.tryFailure(new ClosedChannelException());
            return;
        }
        TransportError.encode(
                out, call.xid, call.protocol.number(), grant(), TransportError.ERR_CHUNK);
        responder.finish(call);
        ctx.write(out, promise.unvoid().addListener(responder.chunkErrorSent()));
    }
}
