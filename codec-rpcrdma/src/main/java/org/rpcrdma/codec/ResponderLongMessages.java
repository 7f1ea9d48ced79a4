// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;

/**
 * Long messages of a responder (RFC 8166, 3.5): pulls the Read chunks of calls, so that the next stage sees complete
 * payload streams; sends a reply above the inline threshold through the Reply chunk, or, where both sides are
 * configured for it, offers it in a Position Zero Read chunk.
 */
final class ResponderLongMessages {

    private final DirectlyLinkedStageHandler stage;
    private final ConnectionSharedState link;
    private final ResponderState responder;
    private final InboundPullMemoryBudget pulls;
    private final OutboundReadChunkReplyExposer exposer;
    private final OutboundReplyRdmaWriter writer;
    private final CallOrReplyReadListPull.Taker whenPulled = this::pulled;

    /**
     * @param stage passes messages on
     */
    ResponderLongMessages(
            DirectlyLinkedStageHandler stage,
            ConnectionSharedState link,
            ResponderState responder) {
        this.stage = stage;
        this.link = link;
        this.responder = responder;
        pulls = responder.pulls();
        exposer = new OutboundReadChunkReplyExposer(link, responder);
        writer = new OutboundReplyRdmaWriter(link, responder);
    }

    /** Passes a call to the next stage, once complete. Called once for each call. */
    void receive(ChannelHandlerContext ctx, InboundCallState call) {
        if (call.request.isIncomplete()) {
            pull(ctx, call);
        } else {
            deliver(ctx, call);
        }
    }

    private void deliver(ChannelHandlerContext ctx, InboundCallState call) {
        if (call.request.isLong && !call.request.isCall(call.xid)) {
            String problem = "what is in the Position Zero Read chunk is not this call";
            ctx.write(responder.refuse(call, InboundMessageRefusal.chunkError(problem)));
            return;
        }
        stage.toUser(call);
    }

    /**
     * Pulls a call, or lets it wait for memory: the peer has respected its grant (RFC 8166, 3.3.1), and is not refused
     * for a temporary lack of memory.
     */
    private void pull(ChannelHandlerContext ctx, InboundCallState call) {
        CallOrReplyReadListPull pull = call.request.pull;
        if (pulls.mustHold(pull)) {
            pulls.hold(pull, () -> pullHeld(ctx, call));
            link.metrics.increment(RpcRdmaCounter.CALLS_HELD);
        } else if (!tryPull(ctx, call)) {
            link.metrics.increment(RpcRdmaCounter.CALLS_HELD);
            link.problem(call.xid, pull.noMemory(), "the call waits");
        }
    }

    private void pullHeld(ChannelHandlerContext ctx, InboundCallState call) {
        tryPull(ctx, call);
        link.flushes().flushRequested();
    }

    /** Pulls a call; returns {@code false} if the call has to wait for memory. */
    private boolean tryPull(ChannelHandlerContext ctx, InboundCallState call) {
        CallOrReplyReadListPull pull = call.request.pull;
        if (pull.tryAllocate()) {
            pull.read(ctx, call.chunks.header.reads(), call.request.message, whenPulled);
        } else if (pulls.canFit(pull)) {
            pulls.retry(pull, () -> pullHeld(ctx, call));
            return false;
        } else {
            ctx.write(responder.refuse(call, InboundMessageRefusal.chunkError(pull.noMemory())));
        }
        return true;
    }

    private void pulled(ChannelHandlerContext ctx, CallOrReplyReadListPull pull) {
        int xid = pull.xid();
        InboundCallState call = responder.call(xid);
        if (!pull.isWhole()) {
            responder.finish(call);
            link.report(xid, InboundMessageRefusal.readFailed());
            return;
        }
        call.request.takePulled();
        deliver(ctx, call);
        ctx.fireChannelReadComplete();
        link.flushes().flushRequested();
    }

    /** Writes the chunks, then the reply; refuses the call if the reply fits nowhere. */
    void write(ChannelHandlerContext ctx, InboundCallState call, ChannelPromise promise) {
        int payload = call.reply.payload.reducedBytes();
        if (call.chunks.areNone && payload <= call.protocol.plainRoom) {
            stage.toNetwork(call, promise); // inline, the common case
            return;
        }
        int room = call.protocol.sendRoom(call.chunks.header.replyListsBytes());
        call.chunks.beginReply();
        call.reply.send(form(call, payload, room));
        switch (call.reply.form) {
            case READ_CHUNK -> expose(ctx, call, payload, room, promise);
            case TOO_LONG -> refuse(ctx, call, tooLong(call, payload, room, ""), promise);
            default -> writeChunks(ctx, call, promise);
        }
    }

    private OutboundReplyTransferForm form(InboundCallState call, int payload, int room) {
        long replyChunk = call.chunks.header.reply().chunkLength();
        boolean readChunks = link.sendsReadChunkReplies(call.protocol.number);
        return OutboundReplyTransferForm.of(payload, room, replyChunk, readChunks);
    }

    /** Exposes the payload stream; without memory for that the reply waits. */
    private void expose(
            ChannelHandlerContext ctx,
            InboundCallState call,
            int payload,
            int room,
            ChannelPromise promise) {
        if (responder.waiting().mustHold(payload)) {
            responder.waiting().hold(payload, () -> writeHeld(ctx, call, promise), promise);
            return;
        }
        String notExposed = exposer.expose(call, payload, room);
        if (notExposed == null) {
            writeChunks(ctx, call, promise);
        } else if (exposer.lacksMemory()) {
            responder.waiting().retry(payload, () -> writeHeld(ctx, call, promise), promise);
        } else {
            refuse(ctx, call, tooLong(call, payload, room, notExposed), promise);
        }
    }

    /** Refuses a call whose reply fits nowhere, before any chunk is written (RFC 8166, 4.5.3). */
    private void refuse(
            ChannelHandlerContext ctx,
            InboundCallState call,
            InboundMessageRefusal refusal,
            ChannelPromise promise) {
        ctx.write(responder.refuse(call, refusal));
        promise.tryFailure(refusal.exception());
    }

    private void writeChunks(
            ChannelHandlerContext ctx, InboundCallState call, ChannelPromise promise) {
        try {
            writer.write(ctx, call);
        } catch (Throwable t) {
            responder.lose(call, promise, t);
            return;
        }
        stage.toNetwork(call, promise);
    }

    private void writeHeld(
            ChannelHandlerContext ctx, InboundCallState call, ChannelPromise promise) {
        write(ctx, call, promise);
        ctx.flush();
    }

    private static InboundMessageRefusal tooLong(
            InboundCallState call, int payload, int room, String notExposed) {
        return InboundMessageRefusal.replyTooLong(
                "reply of "
                        + payload
                        + " bytes (expected: at most "
                        + Math.max(call.chunks.header.reply().chunkLength(), room)
                        + ", inline or in the Reply chunk)"
                        + (notExposed.isEmpty() ? "" : "; not exposed to be read: " + notExposed));
    }
}
