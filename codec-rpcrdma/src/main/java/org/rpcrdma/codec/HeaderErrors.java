// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;

/** Answers calls with RDMA_ERROR, or drops what nobody may answer (RFC 8166, 4.5). */
final class HeaderErrors {

    private final RpcRdmaConnection connection;
    private final ConnectionMetrics metrics;

    HeaderErrors(RpcRdmaConnection connection) {
        this.connection = connection;
        this.metrics = connection.metrics();
    }

    /** Whether a call may be served: here, and for the first time. It is dropped otherwise. */
    boolean takesCall(TransportHeader call) {
        if (!connection.isResponder()) {
            connection.drop(
                    RpcRdmaCounter.DROPPED_UNEXPECTED_CALL, call.xid(), "call at a requester");
            return false;
        }
        if (connection.served(call.xid()) != null) {
            connection.drop(
                    RpcRdmaCounter.DROPPED_DUPLICATE_XID, call.xid(), "call that is in progress");
            return false;
        }
        return true;
    }

    /** ERR_VERS, for what may be a call (RFC 8166, 4.5.1). */
    void otherVersion(ChannelHandlerContext ctx, TransportHeader header) {
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
        TransportHeader.encodeErrVers(
                out, header.xid(), header.version(), grant(), connection.versions().highest());
        sendError(ctx, out, ChannelFutureListener.CLOSE_ON_FAILURE);
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
                        ? connection.isServer()
                        : direction == Direction.CALL && connection.isResponder();
        if (isCall) {
            refuse(ctx, header, what);
        } else {
            connection.drop(dropped, header.xid(), what);
        }
    }

    /** ERR_CHUNK, or BAD_HEADER in version 2, for a call that no exchange was made for (RFC 8166, 4.5.2). */
    void refuse(ChannelHandlerContext ctx, TransportHeader header, String what) {
        connection.problem(header.xid(), what, "answered with ERR_CHUNK");
        refuse(ctx, header, TransportHeader.ERR_CHUNK, connection.chunkErrorSent());
    }

    void refuse(
            ChannelHandlerContext ctx,
            TransportHeader header,
            int code,
            ChannelFutureListener then) {
        connection.responderCredits().refused();
        ByteBuf out = connection.buffer(TransportHeader.ERR_CHUNK_BYTES);
        TransportHeader.encodeError(out, header.xid(), header.version(), grant(), code);
        sendError(ctx, out, then);
    }

    private void sendError(ChannelHandlerContext ctx, ByteBuf out, ChannelFutureListener then) {
        ctx.write(out).addListener(then);
        connection.flushLater();
    }

    private int grant() {
        return connection.grants().next();
    }

    /** ERR_CHUNK, or BAD_HEADER in version 2, for a call that an exchange was made for. */
    void reject(ChannelHandlerContext ctx, RpcRdmaExchange call, ChannelPromise promise) {
        ByteBuf out = connection.buffer(TransportHeader.ERR_CHUNK_BYTES);
        TransportHeader.encodeErrChunk(out, call.xid, call.protocol.number(), grant());
        connection.finish(call);
        ctx.write(out, promise.unvoid().addListener(connection.chunkErrorSent()));
    }
}
