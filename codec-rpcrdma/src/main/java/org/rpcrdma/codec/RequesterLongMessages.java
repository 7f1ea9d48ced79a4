// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import org.rpcrdma.codec.wire.RpcCallHeader;

/**
 * Long messages of a requester (RFC 8166, 3.5): decides which calls go in a Position Zero Read chunk and which offer a
 * Reply chunk; pulls replies in Read chunks, so that the next stage sees complete payload streams.
 */
final class RequesterLongMessages {

    private final CodecStageHandler stage;
    private final ConnectionContext link;
    private final Requester requester;
    private final ReadChunkPulls pulls;

    /**
     * @param stage passes messages on
     */
    RequesterLongMessages(
            CodecStageHandler stage,
            ConnectionContext link,
            Requester requester,
            ReadChunkPulls pulls) {
        this.stage = stage;
        this.link = link;
        this.requester = requester;
        this.pulls = pulls;
    }

    /** Sends a call, or fails it when nothing can carry it. */
    void write(OutboundCall call, ChannelPromise promise) {
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
        stage.toNetwork(call, promise);
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

    /** Passes a reply on, once it is complete. */
    void receive(ChannelHandlerContext ctx, OutboundCall call) {
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
        if (call.isLong && call.failure == null && !isReply(call.reply, call.xid)) {
            requester.spoil(
                    call,
                    new MalformedReplyException(
                            "what is in the Reply chunk or Read chunk is not the reply to this"
                                    + " call"));
        }
        stage.toUser(call);
    }

    /** There is room for the reply now. */
    private void receiveHeld(ChannelHandlerContext ctx, OutboundCall call) {
        if (call.isGivenUp) {
            ctx.write(call.completion());
            requester.finish(call);
        } else {
            receive(ctx, call);
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
            receive(ctx, call);
            ctx.fireChannelReadComplete();
        }
        link.flushNow(ctx);
    }

    private static boolean isReply(ByteBuf stream, int xid) {
        return stream.getInt(stream.readerIndex()) == xid
                && RpcCallHeader.isOfType(stream, RpcCallHeader.REPLY);
    }
}
