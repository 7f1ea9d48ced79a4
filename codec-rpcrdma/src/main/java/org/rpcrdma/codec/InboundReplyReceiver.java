// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Receives replies at a requester: validates each against the chunks that its call has offered, and invalidates the
 * call's memory before the reply is read (RFC 8166, 4.4.1).
 */
final class InboundReplyReceiver {

    private final ConnectionSharedState link;
    private final ConnectionMetrics metrics;
    private final RequesterState requester;
    private final InboundPullMemoryBudget pulls;
    private final InboundChunkListValidator checks;
    private final OutboundCallEncoder encoder;
    private final AnswersInFlight completions = new AnswersInFlight();

    InboundReplyReceiver(
            ConnectionSharedState link,
            RequesterState requester,
            InboundChunkListValidator checks,
            OutboundCallEncoder encoder) {
        this.link = link;
        metrics = link.metrics;
        this.requester = requester;
        pulls = requester.pulls();
        this.checks = checks;
        this.encoder = encoder;
    }

    /**
     * Takes a reply.
     *
     * @param message becomes that of the reply when it is a short one
     * @return the call that is answered; {@code null} when the reply was dropped
     */
    OutboundCallState receive(
            ChannelHandlerContext ctx, ByteBuf message, TransportHeader header, int payload) {
        OutboundCallState call = requester.call(header.xid());
        boolean isPulled =
                header.hasChunks()
                        && header.reads().segments() > 0
                        && link.takesReadChunkReplies(header.version());
        if (call == null || !call.isUnanswered()) {
            link.drop(RpcRdmaCounter.DROPPED_UNKNOWN_XID, header.xid(), "reply without a call");
            if (isPulled && (call == null || call.isQueued())) {
                completeUnknown(ctx, header);
            }
            return null;
        }
        String mismatch = mismatch(call, header);
        if (mismatch != null) {
            link.drop(RpcRdmaCounter.DROPPED_BAD_REPLY, header.xid(), mismatch);
            if (isPulled) {
                completeUnknown(ctx, header);
            }
            return null;
        }
        CallOrReplyReadListPull pull = isPulled ? pulls.of(header.xid(), false) : null;
        String problem =
                checks.reply(
                        call.header, message, header, payload, pull == null ? null : pull.layout());
        if (problem != null && pull == null) {
            link.drop(RpcRdmaCounter.DROPPED_BAD_REPLY, header.xid(), problem);
            return null;
        }
        if (!tryCompleteCall(call, header, pull)) {
            return null;
        }
        int inline = 0;
        if (!call.reply.isLong) {
            inline = message.writerIndex() - payload;
            call.reply.stream(message.readerIndex(payload));
        }
        return counted(call, inline, problem);
    }

    /**
     * Takes a message whose payload has proved to be a reply (RFC 8167, 4.1).
     *
     * @param notPulled why the message could not be pulled; {@code null} if it was
     * @return the call that is answered; {@code null} when the reply was dropped
     */
    OutboundCallState take(
            ChannelHandlerContext ctx, CallOrReplyReadListPull undetermined, String notPulled) {
        TransportHeader header = undetermined.header();
        OutboundCallState call = requester.unanswered(undetermined.xid());
        if (call == null || mismatch(call, header) != null) {
            link.drop(
                    RpcRdmaCounter.DROPPED_UNKNOWN_XID, undetermined.xid(), "reply without a call");
            completeUnknown(ctx, header);
            undetermined.free();
            return null;
        }
        String problem = notPulled;
        if (problem == null) {
            problem =
                    checks.reply(
                            call.header, undetermined.memory(), header, 0, undetermined.layout());
        }
        if (problem == null
                && undetermined.layout().isApart()
                && undetermined.layout().chunks() > 0) {
            problem = "results in Read chunks of their own";
        }
        if (!tryCompleteCall(call, header, undetermined)) {
            return null;
        }
        call.reply.creditIsOld();
        if (undetermined.isWhole()) {
            call.reply.takePulled();
        }
        return counted(call, 0, problem);
    }

    /** Reason why a reply does not match the call; {@code null} if it matches. */
    private static String mismatch(OutboundCallState call, TransportHeader header) {
        if (call.request.option != null) {
            return "RPC reply to an optional operation";
        }
        return header.version() == call.protocol.number
                ? null
                : "reply in version " + header.version() + " (expected: that of the call)";
    }

    /** Completes the call; {@code false} if its memory cannot be invalidated, which ends the connection (4.5.4). */
    private boolean tryCompleteCall(
            OutboundCallState call, TransportHeader header, CallOrReplyReadListPull pull) {
        call.answered(header.credit());
        if (!link.channel.isActive()) {
            if (pull != null) {
                pull.free();
            }
            return false;
        }
        call.reply.begin(header, pull);
        if (header.hasChunks() || call.header.hasChunks()) {
            call.header.swap(header);
        }
        return true;
    }

    private OutboundCallState counted(OutboundCallState call, int inlineBytes, String problem) {
        metrics.countReply(call.header, call.reply.isLong, inlineBytes);
        if (problem != null) {
            requester.spoil(call, new ReplyPullException(problem));
        }
        return call;
    }

    /**
     * Answers a reply to an abandoned call with a pull completion, for which the responder waits (reliable reply draft,
     * 4.1.3).
     */
    private void completeUnknown(ChannelHandlerContext ctx, TransportHeader header) {
        if (!completions.hasRoom(0)) {
            link.closeNow("the peer takes none of the completions of replies to no call", null);
            return;
        }
        Object send = encoder.encode(RdmaDoneMessage.plain(header.xid(), header.version()));
        if (send == null) {
            return;
        }
        requester.credits.completionDue();
        requester.credits.completionSent();
        ctx.write(send).addListener(completions.add());
        link.flushes().request();
    }
}
