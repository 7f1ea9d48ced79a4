// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Calls as a responder takes them: what is wrong with one is answered before anything is kept of it (RFC
 * 8166, 4.5.2).
 */
final class InboundCallReceiver {

    private final ConnectionContext link;
    private final Responder responder;
    private final ReadChunkPulls pulls;
    private final InboundHeaderValidator checks;
    private final OutboundTransportErrors errors;

    InboundCallReceiver(
            RpcRdmaConnection connection,
            InboundHeaderValidator checks,
            OutboundTransportErrors errors) {
        link = connection.link();
        responder = connection.responder();
        pulls = connection.pulls();
        this.checks = checks;
        this.errors = errors;
    }

    /**
     * Takes a call.
     *
     * @param message becomes that of the call when it is a short one
     * @return {@code null} when the call was answered with an error, or dropped
     */
    InboundCall receive(
            ChannelHandlerContext ctx, ByteBuf message, TransportHeader header, int payload) {
        if (!errors.takesCall(header) || !errors.takesChunks(ctx, header, true)) {
            return null;
        }
        InboundReadListPull pull =
                header.reads().segments() > 0 ? pulls.ofCall(header.xid()) : null;
        String problem = checks.call(message, header, payload, pull == null ? null : pull.layout());
        if (problem != null) {
            if (pull != null) {
                pull.free();
            }
            errors.refuse(ctx, header, problem);
            return null;
        }
        InboundCall call = newCall(header, pull);
        if (!call.isLong) {
            link.metrics()
                    .add(
                            RpcRdmaRole.RESPONDER,
                            RpcRdmaCounter.INLINE_BYTES,
                            message.writerIndex() - payload);
            call.received = message.readerIndex(payload);
        }
        return call;
    }

    /** What was pulled has turned out to be a call. */
    InboundCall take(InboundReadListPull pull) {
        InboundCall call = newCall(pull.header(), pull);
        call.received = pull.take();
        return call;
    }

    private InboundCall newCall(TransportHeader header, InboundReadListPull pull) {
        InboundCall call = responder.newCall(header.xid(), header.version());
        call.startNanos = link.metrics().startTime();
        call.pull = pull;
        call.isLong = header.proc() == TransportHeader.RDMA_NOMSG;
        call.header.swap(header);
        call.findInvalidateHandle(link);
        link.metrics().increment(RpcRdmaCounter.CALLS_RECEIVED);
        link.metrics().countCall(RpcRdmaRole.RESPONDER, call.header, call.isLong);
        return call;
    }
}
