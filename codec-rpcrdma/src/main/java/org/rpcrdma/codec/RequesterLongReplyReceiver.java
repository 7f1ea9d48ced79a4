// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;

/**
 * Long replies of a requester (RFC 8166, 3.5): takes replies from the Reply chunk, and pulls replies in Read chunks, so
 * that the next stage sees complete payload streams.
 */
final class RequesterLongReplyReceiver {

    private final DirectlyLinkedStageHandler stage;
    private final ConnectionSharedState link;
    private final RequesterState requester;
    private final InboundPullMemoryBudget pulls;

    /**
     * @param stage passes messages on
     */
    RequesterLongReplyReceiver(
            DirectlyLinkedStageHandler stage,
            ConnectionSharedState link,
            RequesterState requester) {
        this.stage = stage;
        this.link = link;
        this.requester = requester;
        pulls = requester.pulls();
    }

    /** Passes a reply on, once it is complete. */
    void receive(ChannelHandlerContext ctx, OutboundCallState call) {
        CallOrReplyReadListPull pull = call.reply.pull;
        if (pull != null && call.reply.failure == null && !pull.isDone()) {
            if (pulls.mustHold(pull)) {
                pulls.hold(pull, () -> receiveHeld(ctx, call));
                return;
            }
            if (pull.tryAllocate()) {
                pull.read(ctx, call.header.reads(), call.reply.stream(), this::replyPulled);
                return;
            }
            requester.spoil(call, new ReplyPullException(pull.noMemory()));
        }
        if (pull != null) {
            ctx.write(call.completion());
        } else if (call.reply.isLong && call.reply.failure == null) {
            call.takeReplyChunk();
        }
        if (call.reply.isLong
                && call.reply.failure == null
                && !isReply(call.reply.stream(), call.xid)) {
            requester.spoil(
                    call,
                    new MalformedReplyException(
                            "what is in the Reply chunk or Read chunk is not the reply to this"
                                    + " call"));
        }
        stage.toUser(call);
    }

    /** Pulls a reply that was held back. */
    private void receiveHeld(ChannelHandlerContext ctx, OutboundCallState call) {
        if (call.isCancelled) {
            ctx.write(call.completion());
            requester.finish(call);
        } else {
            receive(ctx, call);
        }
        ctx.flush();
    }

    /**
     * All Reads of a reply have ended; sends the pull completion, also after a failure (reliable reply draft, 4.1.2).
     */
    private void replyPulled(ChannelHandlerContext ctx, CallOrReplyReadListPull pull) {
        OutboundCallState call = requester.call(pull.xid());
        if (pull.isWhole()) {
            call.reply.takePulled();
        } else if (pull.isRefused()) {
            call.reply.fail(new ReplyPullException("the Read chunks of the reply cannot be read"));
        } else {
            // The call is lost with the connection, and may be retransmitted on the next one.
            link.report(pull.xid(), InboundMessageRefusal.readFailed());
            return;
        }
        if (call.isCancelled) {
            ctx.write(call.completion());
            requester.finish(call);
        } else {
            receive(ctx, call);
            ctx.fireChannelReadComplete();
        }
        link.flushes().flushRequested();
    }

    private static boolean isReply(ByteBuf stream, int xid) {
        return stream.getInt(stream.readerIndex()) == xid
                && OncRpcHeaderDecoder.isOfType(stream, OncRpcHeaderDecoder.REPLY);
    }
}
