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
        if (message instanceof InboundCall call && !call.isRejected) {
            writeReply(ctx, call, promise);
        } else {
            toNetwork(message, promise);
        }
    }

    // ------------------------------------------------------------------ requester

    private void receiveReply(ChannelHandlerContext ctx, OutboundCall call) {
        InboundReadListPull pull = call.reply.pull();
        if (pull != null && call.reply.failure() == null && !pull.isDone()) {
            if (pulls.mustHold(pull)) {
                pulls.hold(pull, () -> receiveHeld(ctx, call));
                return;
            }
            if (pull.allocate()) {
                pull.read(ctx, call.header.reads(), call.reply.stream(), this::replyPulled);
                return;
            }
            requester.spoil(call, new PullException(pull.noMemory()));
        }
        if (pull != null) {
            ctx.write(call.completion());
        } else if (call.reply.isLong() && call.reply.failure() == null) {
            call.takeReplyChunk();
        }
        if (call.reply.isLong()
                && call.reply.failure() == null
                && !isMessage(call.reply.stream(), call.xid(), RpcCallHeader.REPLY)) {
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
        if (call.isCancelled()) {
            ctx.write(call.completion());
            requester.finish(call);
        } else {
            receiveReply(ctx, call);
        }
        ctx.flush();
    }

    /** All Reads of a reply have ended; whatever came of them, the responder is told (reliable reply draft, 4.1.2). */
    private void replyPulled(ChannelHandlerContext ctx, InboundReadListPull pull) {
        OutboundCall call = requester.call(pull.xid());
        if (pull.isWhole()) {
            call.reply.takePulled();
        } else if (pull.isRefused()) {
            call.reply.fail(new PullException("the Read chunks of the reply cannot be read"));
        } else {
            // The call is lost with the connection, and can be sent again on the next one.
            link.closeNow("an RDMA Read has failed", null);
            return;
        }
        if (call.isCancelled()) {
            ctx.write(call.completion());
            requester.finish(call);
        } else {
            receiveReply(ctx, call);
            ctx.fireChannelReadComplete();
        }
        link.flushes().flushRequested();
    }

    // ------------------------------------------------------------------ responder

    private void receiveCall(ChannelHandlerContext ctx, InboundCall call) {
        InboundReadListPull pull = call.pull;
        if (pull != null && !pull.isDone()) {
            pullCall(ctx, call);
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

    /** A passing lack of memory is not the peer's, who has kept to the grant (RFC 8166, 3.3.1): its call waits. */
    private void pullCall(ChannelHandlerContext ctx, InboundCall call) {
        InboundReadListPull pull = call.pull;
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
        InboundReadListPull pull = call.pull;
        if (pull.allocate()) {
            pull.read(ctx, call.header.reads(), call.received, this::callPulled);
        } else if (pulls.canFit(pull)) {
            pulls.retry(pull, () -> pullHeld(ctx, call));
            return false;
        } else {
            ctx.write(responder.reject(call, pull.noMemory()));
        }
        return true;
    }

    private void callPulled(ChannelHandlerContext ctx, InboundReadListPull pull) {
        InboundCall call = responder.call(pull.xid());
        if (!pull.isWhole()) {
            responder.finish(call);
            link.closeNow("an RDMA Read has failed", null);
            return;
        }
        call.takeWhole();
        receiveCall(ctx, call);
        ctx.fireChannelReadComplete();
        link.flushes().flushRequested();
    }

    private static boolean isMessage(ByteBuf stream, int xid, int type) {
        return stream.getInt(stream.readerIndex()) == xid && RpcCallHeader.isOfType(stream, type);
    }

    private void writeReply(ChannelHandlerContext ctx, InboundCall call, ChannelPromise promise) {
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
            if (isOffered && offer.lacksMemory()) {
                responder.waiting().retry(payload, () -> writeHeld(ctx, call, promise), promise);
                return;
            }
            if (notOffered != null) {
                String problem = tooLong(call, payload, room, notOffered);
                ctx.write(responder.reject(call, problem));
                promise.tryFailure(new ReplyTooLongException(problem));
                return;
            }
        }
        try {
            writer.write(ctx, call, call.isLong && fitsChunk);
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

    private static String tooLong(InboundCall call, int payload, int room, String notOffered) {
        return "reply of "
                + payload
                + " bytes (expected: at most "
                + Math.max(call.header.reply().chunkLength(), room)
                + ", inline or in the Reply chunk)"
                + (notOffered.isEmpty() ? "" : "; not offered to be read: " + notOffered);
    }
}
