// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import org.rpcrdma.codec.wire.RpcCallHeader;

/**
 * What does not come or go inline (RFC 8166, 3.5): pulls Read chunks, so that the next stage sees payload streams
 * that are all there; sends a payload stream above the inline threshold through a Position Zero Read chunk or a Reply
 * chunk, or, where both sides are configured for it, offers it in a Position Zero Read chunk of the responder.
 */
final class LongMessageHandler extends Stage {

    private final Link link;
    private final Requester requester;
    private final Responder responder;
    private final Pulls pulls;
    private final ReplyOffer offer;
    private final ReplyWriter writer;

    LongMessageHandler(RpcRdmaConnection connection) {
        link = connection.link();
        requester = connection.requester();
        responder = connection.responder();
        pulls = connection.pulls();
        offer = new ReplyOffer(link, responder);
        writer = new ReplyWriter(link, responder);
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (message instanceof Call call) {
            receiveReply(ctx, call);
        } else if (message instanceof ServedCall call) {
            receiveCall(ctx, call);
        } else {
            toUser(message);
        }
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (message instanceof Call call) {
            writeCall(call, promise);
        } else if (message instanceof ServedCall call && !call.isRejected) {
            writeReply(ctx, call, promise);
        } else {
            toNetwork(message, promise);
        }
    }

    // ------------------------------------------------------------------ requester

    private void writeCall(Call call, ChannelPromise promise) {
        boolean fits = CallSizes.fitsInline(call, call.payload.reducedBytes());
        boolean needsReplyChunk = CallSizes.needsReplyChunk(call);
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
    private String problem(Call call, boolean fits, boolean needsReplyChunk) {
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

    private void receiveReply(ChannelHandlerContext ctx, Call call) {
        Pull pull = call.pull;
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
    private void receiveHeld(ChannelHandlerContext ctx, Call call) {
        if (call.isGivenUp) {
            ctx.write(call.completion());
            requester.finish(call);
        } else {
            receiveReply(ctx, call);
        }
        ctx.flush();
    }

    /** All Reads of a reply have ended; whatever came of them, the responder is told (reliable reply draft, 4.1.2). */
    private void replyPulled(ChannelHandlerContext ctx, Pull pull) {
        Call call = requester.call(pull.xid());
        if (pull.isWhole()) {
            call.takeWhole();
        } else if (pull.isRefused()) {
            call.failure = new PullException("the Read chunks of the reply cannot be read");
        } else {
            // The call is lost with the connection, and can be sent again on the next one.
            link.closeNow("an RDMA Read has failed", null);
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

    private void receiveCall(ChannelHandlerContext ctx, ServedCall call) {
        Pull pull = call.pull;
        if (pull != null && !pull.isDone()) {
            if (pull.allocate()) {
                pull.read(ctx, call.header.reads(), call.received, this::callPulled);
            } else {
                ctx.write(responder.reject(call, pull.noMemory()));
            }
            return;
        }
        if (call.isLong && !isMessage(call.received, call.xid, RpcCallHeader.CALL)) {
            ctx.write(
                    responder.reject(
                            call, "what is in the Position Zero Read chunk is not this call"));
            return;
        }
        toUser(call);
    }

    private void callPulled(ChannelHandlerContext ctx, Pull pull) {
        ServedCall call = responder.call(pull.xid());
        if (!pull.isWhole()) {
            responder.finish(call);
            link.closeNow("an RDMA Read has failed", null);
            return;
        }
        call.takeWhole();
        receiveCall(ctx, call);
        ctx.fireChannelReadComplete();
        link.flushNow(ctx);
    }

    private static boolean isMessage(ByteBuf stream, int xid, int type) {
        return stream.getInt(stream.readerIndex()) == xid && RpcCallHeader.isOfType(stream, type);
    }

    private void writeReply(ChannelHandlerContext ctx, ServedCall call, ChannelPromise promise) {
        int payload = call.reply.reducedBytes();
        int room = call.protocol.sendRoom(call.header.replyListsBytes());
        call.header.reads().clear(); // those of the call are done with
        call.isLong = payload > room;
        boolean fitsChunk = payload <= call.header.reply().chunkLength();
        boolean isOffered =
                call.isLong && !fitsChunk && link.sendsReadChunkReplies(call.protocol.number());
        if (isOffered && responder.waiting().mustHold(payload)) {
            responder.waiting().hold(payload, () -> writeHeld(ctx, call, promise), promise);
            return;
        }
        if (call.isLong && !fitsChunk) {
            // A chunk that is too small is found before anything is written into it (4.5.3).
            String notOffered = isOffered ? offer.offer(call, payload, room) : "";
            if (notOffered != null) {
                String problem = tooLong(call, payload, room, notOffered);
                ctx.write(responder.reject(call, problem));
                promise.tryFailure(new ReplyTooLongException(problem));
                return;
            }
        }
        writer.write(ctx, call, call.isLong && fitsChunk);
        toNetwork(call, promise);
    }

    private void writeHeld(ChannelHandlerContext ctx, ServedCall call, ChannelPromise promise) {
        writeReply(ctx, call, promise);
        ctx.flush();
    }

    private static String tooLong(ServedCall call, int payload, int room, String notOffered) {
        return "reply of "
                + payload
                + " bytes (expected: at most "
                + Math.max(call.header.reply().chunkLength(), room)
                + ", inline or in the Reply chunk)"
                + (notOffered.isEmpty() ? "" : "; not offered to be read: " + notOffered);
    }
}
