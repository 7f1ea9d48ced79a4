// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Long messages of a responder (RFC 8166, 3.5): pulls the Read chunks of calls, so that the next stage sees complete
 * payload streams; sends a reply above the inline threshold through the Reply chunk, or, where both sides are
 * configured for it, offers it in a Position Zero Read chunk.
 */
final class ResponderLongMessages {

    private final CodecStageHandler stage;
    private final ConnectionContext link;
    private final ResponderState responder;
    private final ReadChunkPulls pulls;
    private final OutboundReadChunkReply offer;
    private final OutboundReplyChunkWriter writer;
    private final InboundReadListPull.Taker whenPulled = this::pulled;

    /**
     * @param stage passes messages on
     */
    ResponderLongMessages(
            CodecStageHandler stage,
            ConnectionContext link,
            ResponderState responder,
            ReadChunkPulls pulls) {
        this.stage = stage;
        this.link = link;
        this.responder = responder;
        this.pulls = pulls;
        offer = new OutboundReadChunkReply(link, responder);
        writer = new OutboundReplyChunkWriter(link, responder);
    }

    /** Passes a call on, once it is complete. Each call comes here once. */
    void receive(ChannelHandlerContext ctx, InboundCall call) {
        if (call.request.isIncomplete()) {
            pull(ctx, call);
        } else {
            deliver(ctx, call);
        }
    }

    private void deliver(ChannelHandlerContext ctx, InboundCall call) {
        if (call.request.isLong && !call.request.isCall(call.xid)) {
            String problem = "what is in the Position Zero Read chunk is not this call";
            ctx.write(responder.refuse(call, Refusal.chunkError(problem)));
            return;
        }
        stage.toUser(call);
    }

    /** A passing lack of memory is not the peer's, who has kept to the grant (RFC 8166, 3.3.1): its call waits. */
    private void pull(ChannelHandlerContext ctx, InboundCall call) {
        InboundReadListPull pull = call.request.pull;
        if (pulls.mustHold(pull)) {
            pulls.hold(pull, () -> pullHeld(ctx, call));
            link.metrics().increment(RpcRdmaCounter.CALLS_HELD);
        } else if (!pullNow(ctx, call)) {
            link.metrics().increment(RpcRdmaCounter.CALLS_HELD);
            link.problem(call.xid, pull.noMemory(), "the call waits");
        }
    }

    private void pullHeld(ChannelHandlerContext ctx, InboundCall call) {
        pullNow(ctx, call);
        link.flushes().flushRequested();
    }

    /** Returns {@code false} when the call waits for memory. */
    private boolean pullNow(ChannelHandlerContext ctx, InboundCall call) {
        InboundReadListPull pull = call.request.pull;
        if (pull.allocate()) {
            pull.read(ctx, call.chunks.header.reads(), call.request.message, whenPulled);
        } else if (pulls.canFit(pull)) {
            pulls.retry(pull, () -> pullHeld(ctx, call));
            return false;
        } else {
            ctx.write(responder.refuse(call, Refusal.chunkError(pull.noMemory())));
        }
        return true;
    }

    private void pulled(ChannelHandlerContext ctx, InboundReadListPull pull) {
        int xid = pull.xid();
        InboundCall call = responder.call(xid);
        if (!pull.isWhole()) {
            responder.finish(call);
            link.report(xid, Refusal.readFailed());
            return;
        }
        call.request.takePulled();
        deliver(ctx, call);
        ctx.fireChannelReadComplete();
        link.flushes().flushRequested();
    }

    /** Writes what goes into chunks, then the reply; refuses the call when the reply fits nowhere. */
    void write(ChannelHandlerContext ctx, InboundCall call, ChannelPromise promise) {
        int payload = call.reply.payload.reducedBytes();
        if (call.chunks.areNone
                && payload <= call.protocol.sendRoom(TransportHeader.EMPTY_LISTS_BYTES)) {
            stage.toNetwork(call, promise); // inline, as most replies
            return;
        }
        int room = call.protocol.sendRoom(call.chunks.header.replyListsBytes());
        call.chunks.beginReply();
        call.reply.placeOutOfLine(payload > room);
        boolean fitsChunk = payload <= call.chunks.header.reply().chunkLength();
        boolean isOffered =
                call.reply.isLong
                        && !fitsChunk
                        && link.sendsReadChunkReplies(call.protocol.number());
        if (isOffered && responder.waiting().mustHold(payload)) {
            responder.waiting().hold(payload, () -> writeHeld(ctx, call, promise), promise);
            return;
        }
        if (call.reply.isLong && !fitsChunk) {
            // A chunk that is too small is found before anything is written into it (4.5.3).
            String notOffered = isOffered ? offer.offer(call, payload, room) : "";
            if (isOffered && offer.lacksMemory()) {
                responder.waiting().retry(payload, () -> writeHeld(ctx, call, promise), promise);
                return;
            }
            if (notOffered != null) {
                Refusal refusal = tooLong(call, payload, room, notOffered);
                ctx.write(responder.refuse(call, refusal));
                promise.tryFailure(refusal.exception());
                return;
            }
        }
        try {
            writer.write(ctx, call, call.reply.isLong && fitsChunk);
        } catch (Throwable t) {
            responder.lose(call, promise, t);
            return;
        }
        stage.toNetwork(call, promise);
    }

    private void writeHeld(ChannelHandlerContext ctx, InboundCall call, ChannelPromise promise) {
        write(ctx, call, promise);
        ctx.flush();
    }

    private static Refusal tooLong(InboundCall call, int payload, int room, String notOffered) {
        return Refusal.replyTooLong(
                "reply of "
                        + payload
                        + " bytes (expected: at most "
                        + Math.max(call.chunks.header.reply().chunkLength(), room)
                        + ", inline or in the Reply chunk)"
                        + (notOffered.isEmpty() ? "" : "; not offered to be read: " + notOffered));
    }
}
