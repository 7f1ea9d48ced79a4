// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import org.rpcrdma.codec.wire.RpcCallHeader;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Long messages of version 1 that may be a call of the peer or the reply to one from here, both in a Position Zero
 * Read chunk: the payload tells, so it is pulled first (RFC 8167, 4.1).
 */
final class UnclassifiedMessages {

    private final ConnectionContext link;
    private final Requester requester;
    private final Responder responder;
    private final ReadChunkPulls pulls;
    private final InboundHeaderValidator checks;
    private final OutboundTransportErrors errors;
    private final InboundCallReceiver calls;
    private final InboundReplyReceiver replies;

    UnclassifiedMessages(
            RpcRdmaConnection connection,
            InboundHeaderValidator checks,
            OutboundTransportErrors errors,
            InboundCallReceiver calls,
            InboundReplyReceiver replies) {
        link = connection.link();
        requester = connection.requester();
        responder = connection.responder();
        pulls = connection.pulls();
        this.checks = checks;
        this.errors = errors;
        this.calls = calls;
        this.replies = replies;
    }

    /**
     * Whether nothing but the payload can tell. What looks like a long call is a reply where long calls do not come
     * from, or when the call with this XID is there already.
     */
    boolean covers(TransportHeader header) {
        return header.version() == TransportHeader.VERSION_ONE
                && isPulledReply(header)
                && responder.isOpen()
                && responder.call(header.xid()) == null
                && !pulls.isUndetermined(header.xid())
                && (link.takesChunks() || requester.call(header.xid()) == null);
    }

    /** Whether it is a long message in a Position Zero Read chunk where replies come in this way. */
    boolean isPulledReply(TransportHeader header) {
        return header.proc() == TransportHeader.RDMA_NOMSG
                && header.reads().hasChunkAt(0)
                && link.takesReadChunkReplies(header.version());
    }

    /**
     * Pulls it. It is taken for the reply that is awaited when that is not possible, and for a call when none is.
     * Either waits for the memory of others; a call has no credit here yet, so as many wait as there are credits.
     */
    void receive(ChannelHandlerContext ctx, ByteBuf message, TransportHeader header, int payload) {
        boolean isAwaited = requester.unanswered(header.xid()) != null;
        if (!errors.takesChunks(ctx, header, !isAwaited)) {
            return;
        }
        InboundReadListPull pull = pulls.ofCall(header.xid());
        if (isAwaited) {
            pull.awaited();
        }
        String problem = checks.call(message, header, payload, pull.layout());
        boolean mayWait =
                problem == null
                        && (isAwaited || pulls.undetermined() < responder.credits().maximum());
        if (mayWait && pulls.mustHold(pull)) {
            pull.header().swap(header);
            pulls.undetermined(pull);
            pulls.hold(pull, () -> receiveHeld(ctx, pull));
            return;
        }
        if (problem == null && pull.allocate()) {
            pull.header().swap(header);
            pulls.undetermined(pull);
            pull.read(ctx, pull.header().reads(), null, this::determined);
            return;
        }
        if (mayWait && !isAwaited && pulls.canFit(pull)) {
            pull.header().swap(header);
            pulls.undetermined(pull);
            pulls.retry(pull, () -> receiveHeld(ctx, pull));
            return;
        }
        if (!isAwaited) {
            String refused = problem == null ? pull.noMemory() : problem;
            pull.free();
            errors.refuse(ctx, header, refused);
        } else if (problem != null) {
            pull.free();
            handOn(ctx, replies.receive(ctx, message, header, payload));
        } else {
            pull.header().swap(header);
            handOn(ctx, replies.take(ctx, pull, pull.noMemory()));
        }
    }

    /** There is room for it now. */
    private void receiveHeld(ChannelHandlerContext ctx, InboundReadListPull pull) {
        if (pull.allocate()) {
            pull.read(ctx, pull.header().reads(), null, this::determined);
        } else if (requester.unanswered(pull.xid()) == null) {
            pulls.retry(pull, () -> receiveHeld(ctx, pull));
        } else {
            pulls.determined(pull);
            handOn(ctx, replies.take(ctx, pull, pull.noMemory()));
            ctx.fireChannelReadComplete();
        }
        link.flushes().flushRequested();
    }

    /** It is there, and belongs to a call of the peer or to one from here. */
    private void determined(ChannelHandlerContext ctx, InboundReadListPull pull) {
        pulls.determined(pull);
        if (!pull.isWhole()) {
            pull.free();
            link.closeNow("an RDMA Read has failed", null);
            return;
        }
        boolean isReply = pull.memory().getInt(4) == RpcCallHeader.REPLY;
        handOn(ctx, isReply ? replies.take(ctx, pull, null) : calls.take(pull));
        ctx.fireChannelReadComplete();
        link.flushes().flushRequested();
    }

    private static void handOn(ChannelHandlerContext ctx, Object call) {
        if (call != null) {
            ctx.fireChannelRead(call);
        }
    }
}
