// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Validates inbound calls and admits them at the responder, or refuses them before any state is kept (RFC 8166,
 * 4.5.2).
 */
final class InboundCallAdmission {

    private final ConnectionSharedState link;
    private final ResponderState responder;
    private final InboundPullMemoryBudget pulls;
    private final InboundChunkListValidator checks;
    private final InboundMessageRefuser errors;

    InboundCallAdmission(
            RpcRdmaConnection connection,
            InboundChunkListValidator checks,
            InboundMessageRefuser errors) {
        link = connection.link();
        responder = connection.responder();
        pulls = responder.pulls();
        this.checks = checks;
        this.errors = errors;
    }

    /**
     * Takes a call.
     *
     * @param message becomes that of the call when it is a short one
     * @return {@code null} when the call was answered with an error, or dropped
     */
    InboundCallState receive(
            ChannelHandlerContext ctx, ByteBuf message, TransportHeader header, int payload) {
        boolean hasChunks = header.hasChunks();
        InboundMessageRefusal refusal = errors.ofCall(header);
        if (refusal == null && hasChunks) {
            refusal = errors.ofChunks(header, true);
        }
        if (refusal != null) {
            errors.refuse(ctx, header, refusal);
            return null;
        }
        boolean hasReads = hasChunks && header.reads().segments() > 0;
        CallOrReplyReadListPull pull = hasReads ? pulls.of(header.xid(), true) : null;
        refusal = checks.call(message, header, payload, pull == null ? null : pull.layout());
        if (refusal != null) {
            if (pull != null) {
                pull.free();
            }
            errors.refuse(ctx, header, refusal);
            return null;
        }
        InboundCallState call = newCall(header, pull);
        if (!call.request.isLong) {
            link.metrics.add(
                    RpcRdmaRole.RESPONDER,
                    RpcRdmaCounter.INLINE_BYTES,
                    message.writerIndex() - payload);
            call.request.takeInline(message.readerIndex(payload));
        }
        return call;
    }

    /**
     * Takes a pulled message whose payload has proved to be a call. One that was pulled as the reply to an outbound
     * call with its XID is pulled again, behind the credits and with the memory of calls.
     *
     * @return the call, unless one with its XID has come meanwhile
     */
    InboundCallState take(ChannelHandlerContext ctx, CallOrReplyReadListPull pull) {
        if (!pull.isOfCall()) {
            try {
                return receive(ctx, Unpooled.EMPTY_BUFFER, pull.header(), 0);
            } finally {
                pull.free();
            }
        }
        InboundMessageRefusal refusal = errors.ofCall(pull.header());
        if (refusal != null) {
            errors.refuse(ctx, pull.header(), refusal);
            pull.free();
            return null;
        }
        InboundCallState call = newCall(pull.header(), pull);
        call.request.takePulled();
        return call;
    }

    private InboundCallState newCall(TransportHeader header, CallOrReplyReadListPull pull) {
        InboundCallState call = responder.newCall(header.xid(), header.version());
        ConnectionMetrics metrics = link.metrics;
        boolean isLong = header.proc() == TransportHeader.RDMA_NOMSG;
        long start = metrics.startTime();
        call.request.begin(start, isLong, pull);
        if (start != 0) {
            responder.ages().add(call, start);
        }
        call.chunks.take(header, link.bothTakeInvalidate);
        metrics.increment(RpcRdmaCounter.CALLS_RECEIVED);
        metrics.countCall(RpcRdmaRole.RESPONDER, call.chunks.header, isLong);
        return call;
    }
}
