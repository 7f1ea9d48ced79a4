// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import org.rpcrdma.codec.wire.RpcCallHeader;

/**
 * Moves messages that do not fit inline (RFC 8166, 3.5): pulls Read chunks, so that the next stage sees complete
 * payload streams; sends a payload stream above the inline threshold through a Position Zero Read chunk or a Reply
 * chunk, or, where both sides are configured for it, offers it in a Position Zero Read chunk of the responder.
 */
final class LongMessageHandler extends CodecStageHandler {

    private final ConnectionContext link;
    private final Requester requester;
    private final Responder responder;
    private final ReadChunkPulls pulls;
    private final OutboundReadChunkReply offer;
    private final OutboundReplyChunkWriter writer;

    LongMessageHandler(RpcRdmaConnection connection) {
        link = connection.link();
        requester = connection.requester();
        responder = connection.responder();
        pulls = connection.pulls();
        offer = new OutboundReadChunkReply(link, responder);
        writer = new OutboundReplyChunkWriter(link, responder);
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (message instanceof OutboundCall call) {
            receiveReply(ctx, call);
        } else if (message instanceof InboundCall call) {
            receiveCall(ctx, call);
        } else {
            toUser(message);
        }
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (message instanceof OutboundCall call) {
            writeCall(call, promise);
        } else if (message instanceof InboundCall call && call.reply.refusal == null) {
            writeReply(ctx, call, promise);
        } else {
            toNetwork(message, promise);
        }
    }

    // ------------------------------------------------------------------ requester

    private void writeCall(OutboundCall call, ChannelPromise promise) {
        boolean fits = OutboundCallSizes.fitsInline(call, call.payload.reducedBytes());
        boolean needsReplyChunk = OutboundCallSizes.needsReplyChunk(call);
        String problem = problem(call, fits, needsReplyChunk);
        if (problem != null) {
            requester.fail(call, promise, new CallTooLongException(problem));
            return;
        }
        if (!fits) {
            ItemList items = call.payload.items();
            if (!items.areApart()) {
                // Whole: one handle for all of it, which one Send With Invalidate frees.
                items.clear();
            }
            call.isLong = true;
        }
        call.replyChunkBytes = needsReplyChunk ? ((int) call.replyMaximum + 3) & ~3 : 0;
        toNetwork(call, promise);
    }

    /** Why a call cannot be carried; {@code null} when it can. */
    private String problem(OutboundCall call, boolean fits, boolean needsReplyChunk) {
        int bytes = call.payload.stream().readableBytes();
        int most = link.config().maxMessageBytes();
        if ((!fits || needsReplyChunk) && !link.callsMayHaveChunks()) {
            return "a reverse call of "
                    + bytes
                    + " bytes does not fit inline (expected: a short one, unless both sides are"
                    + " configured for reverseChunks; RFC 8167, 5.3)";
        }
        if (needsReplyChunk && call.replyMaximum > most) {
            return "a reply of up to " + call.replyMaximum + " bytes is above maxMessageBytes";
        }
        return !fits && bytes > most
                ? "a call of " + bytes + " bytes is above maxMessageBytes"
                : null;
    }

    private void receiveReply(ChannelHandlerContext ctx, OutboundCall call) {
        ReadChunkPull pull = call.pull;
        if (pull != null && call.failure == null && !pull.isDone()) {
            if (pulls.mustHold(pull)) {
                pulls.hold(pull, () -> receiveHeld(ctx, call));
                return;
            }
            if (pull.allocate()) {
                pull.read(ctx, call.header.reads(), call.reply, this::replyPulled);
                return;
            }
            requester.spoil(call, new PullException(pull.noMemory()));
        }
        if (pull != null) {
            ctx.write(call.completion());
        } else if (call.isLong && call.failure == null) {
            call.reply = call.replySink.setIndex(0, (int) call.header.reply().chunkLength());
            call.replySink = null;
        }
        if (call.isLong
                && call.failure == null
                && !isMessage(call.reply, call.xid, RpcCallHeader.REPLY)) {
            requester.spoil(
                    call,
                    new MalformedReplyException(
                            "what is in the Reply chunk or Read chunk is not the reply to this"
                                    + " call"));
        }
        toUser(call);
    }

    /** There is room for the reply now. */
    private void receiveHeld(ChannelHandlerContext ctx, OutboundCall call) {
        if (call.isGivenUp) {
            ctx.write(call.completion());
            requester.finish(call);
        } else {
            receiveReply(ctx, call);
        }
        ctx.flush();
    }

    /** All Reads of a reply have ended; whatever came of them, the responder is told (reliable reply draft, 4.1.2). */
    private void replyPulled(ChannelHandlerContext ctx, ReadChunkPull pull) {
        OutboundCall call = requester.call(pull.xid());
        if (pull.isWhole()) {
            call.takeWhole();
        } else if (pull.isRefused()) {
            call.failure = new PullException("the Read chunks of the reply cannot be read");
        } else {
            // The call is lost with the connection, and can be sent again on the next one.
            link.report(pull.xid(), Refusal.readFailed());
            return;
        }
        if (call.isGivenUp) {
            ctx.write(call.completion());
            requester.finish(call);
        } else {
            receiveReply(ctx, call);
            ctx.fireChannelReadComplete();
        }
        link.flushNow(ctx);
    }

    // ------------------------------------------------------------------ responder

    private void receiveCall(ChannelHandlerContext ctx, InboundCall call) {
        ReadChunkPull pull = call.request.pull;
        if (pull != null && !pull.isDone()) {
            pullCall(ctx, call);
            return;
        }
        if (call.request.isLong && !call.request.isCall(call.xid)) {
            String problem = "what is in the Position Zero Read chunk is not this call";
            ctx.write(responder.refuse(call, Refusal.chunkError(problem)));
            return;
        }
        toUser(call);
    }

    /** A passing lack of memory is not the peer's, who has kept to the grant (RFC 8166, 3.3.1): its call waits. */
    private void pullCall(ChannelHandlerContext ctx, InboundCall call) {
        ReadChunkPull pull = call.request.pull;
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
        link.flushNow(ctx);
    }

    /** Returns {@code false} when the call waits for memory. */
    private boolean pullNow(ChannelHandlerContext ctx, InboundCall call) {
        ReadChunkPull pull = call.request.pull;
        if (pull.allocate()) {
            pull.read(ctx, call.chunks.header.reads(), call.request.message, this::callPulled);
        } else if (pulls.canFit(pull)) {
            pulls.retry(pull, () -> pullHeld(ctx, call));
            return false;
        } else {
            ctx.write(responder.refuse(call, Refusal.chunkError(pull.noMemory())));
        }
        return true;
    }

    private void callPulled(ChannelHandlerContext ctx, ReadChunkPull pull) {
        InboundCall call = responder.call(pull.xid());
        if (!pull.isWhole()) {
            responder.finish(call);
            link.report(pull.xid(), Refusal.readFailed());
            return;
        }
        call.request.takePulled();
        receiveCall(ctx, call);
        ctx.fireChannelReadComplete();
        link.flushNow(ctx);
    }

    private static boolean isMessage(ByteBuf stream, int xid, int type) {
        return stream.getInt(stream.readerIndex()) == xid && RpcCallHeader.isOfType(stream, type);
    }

    private void writeReply(ChannelHandlerContext ctx, InboundCall call, ChannelPromise promise) {
        int payload = call.reply.payload.reducedBytes();
        int room = call.protocol.sendRoom(call.chunks.header.replyListsBytes());
        call.chunks.beginReply();
        call.reply.placeOutOfLine(payload > room);
        boolean fitsChunk = payload <= call.chunks.header.reply().chunkLength();
        boolean isOffered =
                call.reply.isLong && !fitsChunk && link.sendsReadChunkReplies(call.protocol.number());
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
        toNetwork(call, promise);
    }

    private void writeHeld(ChannelHandlerContext ctx, InboundCall call, ChannelPromise promise) {
        writeReply(ctx, call, promise);
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
