// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import org.rpcrdma.channel.RdmaRead;
import org.rpcrdma.channel.RdmaWrite;

/**
 * Long messages (RFC 8166, 3.5.3): a payload stream above the inline threshold goes through a Position Zero Read chunk or a
 * Reply chunk; or, where both sides are configured for it, through a Position Zero Read chunk of the responder.
 */
final class LongMessageHandler extends ChannelDuplexHandler {

    private final RpcRdmaConnection connection;
    private final Piece piece = new Piece();
    private final PayloadStream stream = new PayloadStream();
    private final ReplyOffer offer;

    LongMessageHandler(RpcRdmaConnection connection) {
        this.connection = connection;
        offer = new ReplyOffer(connection);
    }

    // ------------------------------------------------------------------ requester

    /** The header of the call if it goes with its items reduced and everything else inline. */
    static int callHeaderBytes(RpcRdmaExchange call) {
        int bytes =
                call.protocol.headerBytes()
                        + ReadList.ENTRY_BYTES * call.items.count()
                        + (8 + SegmentList.SEGMENT_BYTES) * call.sinkCount();
        return needsReplyChunk(call) ? bytes + 4 + SegmentList.SEGMENT_BYTES : bytes;
    }

    /** Whether the longest reply, with the lists that it repeats, is above its threshold (RFC 8166, 4.3.3). */
    private static boolean needsReplyChunk(RpcRdmaExchange call) {
        if (!mayOfferReplyChunk(call)) {
            return false;
        }
        long header =
                call.protocol.headerBytes() + (8L + SegmentList.SEGMENT_BYTES) * call.sinkCount();
        return header + call.replyMaximum > call.protocol.receiveThreshold();
    }

    /** What does not come inline can be pulled, if the responder can do that (reliable reply draft, 5.3.1). */
    private static boolean mayOfferReplyChunk(RpcRdmaExchange call) {
        RpcRdmaConnection connection = call.connection;
        if (!connection.takesReadChunkReplies(call.protocol.number())) {
            return true;
        }
        return switch (connection.config().readChunkReplies().replyChunks()) {
            case IF_NEEDED -> true;
            case IF_BOUNDED ->
                    call.isReplyBounded
                            && call.replyMaximum <= connection.config().maxMessageBytes();
            case NEVER -> false;
        };
    }

    static boolean neverOffersReplyChunk(RpcRdmaExchange call) {
        RpcRdmaConnection connection = call.connection;
        return connection.takesReadChunkReplies(call.protocol.number())
                && connection.config().readChunkReplies().replyChunks()
                        == ReadChunkReplies.ReplyChunks.NEVER;
    }

    private void writeCall(
            ChannelHandlerContext ctx, RpcRdmaExchange call, ChannelPromise promise) {
        int payload = call.message.readableBytes() - call.items.removedBytes();
        boolean fits = callHeaderBytes(call) + payload <= call.protocol.sendThreshold();
        boolean needsReplyChunk = needsReplyChunk(call);
        String problem = null;
        if ((!fits || needsReplyChunk) && !connection.callsMayHaveChunks()) {
            problem =
                    "a reverse call of "
                            + call.message.readableBytes()
                            + " bytes does not fit inline (expected: a short one, unless both sides"
                            + " are configured for reverseChunks; RFC 8167, 5.3)";
        } else if (needsReplyChunk && call.replyMaximum > connection.config().maxMessageBytes()) {
            problem = "a reply of up to " + call.replyMaximum + " bytes is above maxMessageBytes";
        } else if (!fits && call.message.readableBytes() > connection.config().maxMessageBytes()) {
            problem =
                    "a call of " + call.message.readableBytes() + " bytes is above maxMessageBytes";
        }
        if (problem != null) {
            connection.finish(call);
            promise.tryFailure(new CallTooLongException(problem));
            return;
        }
        if (!fits) {
            if (!call.items.areApart()) {
                // Whole: one handle for all of it, which one Send With Invalidate frees.
                call.items.clear();
            }
            call.isLong = true;
        }
        call.replyChunkBytes = needsReplyChunk ? ((int) call.replyMaximum + 3) & ~3 : 0;
        ctx.write(call, promise);
    }

    private void receiveReply(ChannelHandlerContext ctx, RpcRdmaExchange call) {
        boolean isOffered = call.header.reads().segments() > 0;
        if (!call.isLong || call.failure != null) {
            ctx.fireChannelRead(call);
            return;
        }
        if (!isOffered) {
            call.message = call.replySink.setIndex(0, (int) call.header.reply().chunkLength());
            call.replySink = null;
        } else if (allocate(connection, call)) {
            pullPositionZero(ctx, call);
        } else {
            call.failure = noMemory(call);
        }
        ctx.fireChannelRead(call);
    }

    // ------------------------------------------------------------------ who pulls

    static PullException noMemory(RpcRdmaExchange call) {
        return new PullException("no memory for a reply of " + call.layout.total() + " bytes");
    }

    private void receiveCall(ChannelHandlerContext ctx, RpcRdmaExchange call) {
        if (call.isLong) {
            if (allocate(connection, call)) {
                pullPositionZero(ctx, call);
            } else if (call.isUndetermined && connection.isAwaited(call.xid)) {
                call.failure = noMemory(call);
            } else {
                reject(ctx, connection, call, "no memory for the Read chunks");
                return;
            }
        }
        ctx.fireChannelRead(call);
    }

    /** Takes the memory for the whole rebuilt message. */
    static boolean allocate(RpcRdmaConnection connection, RpcRdmaExchange call) {
        int total = call.layout.total();
        if (!connection.pull(call, total)) {
            return false;
        }
        try {
            call.assembly = connection.buffer(total);
        } catch (IllegalStateException e) {
            return false; // the event loop has no more memory to register
        }
        call.readPending(); // until all Reads are written
        return true;
    }

    /** The reduced stream goes around the places of the other Read chunks. */
    private void pullPositionZero(ChannelHandlerContext ctx, RpcRdmaExchange call) {
        ReadList reads = call.header.reads();
        ReadLayout layout = call.layout;
        int piece = 0;
        int done = 0;
        for (int i = 0; i < reads.segments(); i++) {
            if (reads.position(i) != 0) {
                continue;
            }
            int left = (int) reads.length(i);
            long offset = reads.offset(i);
            while (left > 0) {
                while (done == layout.pieceLength(piece)) {
                    piece++;
                    done = 0;
                }
                int length = Math.min(left, layout.pieceLength(piece) - done);
                read(
                        ctx,
                        connection,
                        call,
                        layout.pieceStart(piece) + done,
                        length,
                        reads.handle(i),
                        offset);
                done += length;
                offset += length;
                left -= length;
            }
        }
    }

    static void read(
            ChannelHandlerContext ctx,
            RpcRdmaConnection connection,
            RpcRdmaExchange call,
            int index,
            int length,
            int handle,
            long offset) {
        connection.metrics().add(RpcRdmaCounter.READ_BYTES, length);
        call.readPending();
        ByteBuf sink = call.assembly.retainedSlice(index, length);
        ctx.write(new RdmaRead(sink, handle, offset)).addListener(call);
        connection.flushLater();
    }

    // ------------------------------------------------------------------ responder

    /** Answers ERR_CHUNK (RFC 8166, 4.5.2 and 4.5.3). */
    static void reject(
            ChannelHandlerContext ctx,
            RpcRdmaConnection connection,
            RpcRdmaExchange call,
            String what) {
        connection.problem(call.xid, what, "answered with ERR_CHUNK");
        call.isRejected = true;
        call.state = RpcRdmaExchange.State.REPLIED;
        ctx.write(call);
        connection.flushLater();
    }

    private void writeReply(
            ChannelHandlerContext ctx, RpcRdmaExchange reply, ChannelPromise promise) {
        int payload = reply.message.readableBytes() - reply.items.removedBytes();
        WriteList writes = reply.header.writes();
        ReplyChunk chunk = reply.header.reply();
        int header =
                reply.protocol.listsOffset() + 4 + writes.encodedBytes() + chunk.encodedBytes();
        int room = reply.protocol.sendThreshold() - header;
        reply.header.reads().clear(); // those of the call are done with
        reply.isLong = payload > room;
        boolean fitsChunk = payload <= chunk.chunkLength();
        if (reply.isLong && !fitsChunk) {
            // Nothing has been written yet: a chunk that is too small is found before it is touched
            // (4.5.3).
            String problem =
                    connection.sendsReadChunkReplies(reply.protocol.number())
                            ? offer.offer(reply, payload, room)
                            : "";
            if (problem != null) {
                rejectTooLong(ctx, reply, promise, payload, room, problem);
                return;
            }
        }
        pushItems(ctx, reply, writes);
        pushStream(ctx, reply, chunk, reply.isLong && fitsChunk);
        ctx.write(reply, promise);
    }

    private void rejectTooLong(
            ChannelHandlerContext ctx,
            RpcRdmaExchange reply,
            ChannelPromise promise,
            int payload,
            int room,
            String notOffered) {
        String what =
                "reply of "
                        + payload
                        + " bytes (expected: at most "
                        + Math.max(reply.header.reply().chunkLength(), room)
                        + ", inline or in the Reply chunk)"
                        + (notOffered.isEmpty() ? "" : "; not offered to be read: " + notOffered);
        reject(ctx, connection, reply, what);
        promise.tryFailure(new ReplyTooLongException(what));
    }

    /** Write chunks first, then the Reply chunk, then the Send: the order makes them visible (RFC 8166, 3.4.6). */
    private void pushItems(ChannelHandlerContext ctx, RpcRdmaExchange reply, WriteList writes) {
        int item = 0;
        for (int c = 0; c < writes.chunks(); c++) {
            boolean isUsed = item < reply.items.count() && reply.items.chunk(item) == c;
            ByteBuf apart = isUsed ? reply.items.apart(item) : null;
            ByteBuf memory = apart == null ? reply.message : apart;
            int index = apart == null ? isUsed ? reply.items.index(item) : 0 : apart.readerIndex();
            int left = isUsed ? reply.items.length(item) : 0;
            for (int i = writes.firstSegment(c); i < writes.endSegment(c); i++) {
                int length = (int) Math.min(left, writes.length(i));
                push(ctx, reply, memory, index, length, writes.handle(i), writes.offset(i));
                writes.length(i, length);
                index += length;
                left -= length;
            }
            item += isUsed ? 1 : 0;
        }
    }

    /** The payload stream, without the items, into the Reply chunk; zeros into the lengths when it goes elsewhere. */
    private void pushStream(
            ChannelHandlerContext ctx, RpcRdmaExchange reply, ReplyChunk chunk, boolean isUsed) {
        stream.of(reply);
        for (int i = 0; i < chunk.segments(); i++) {
            long room = chunk.length(i);
            long filled = 0;
            while (isUsed && filled < room && stream.next(room - filled)) {
                push(ctx, reply, stream.piece(), chunk.handle(i), chunk.offset(i) + filled);
                filled += stream.piece().length();
            }
            chunk.length(i, filled);
        }
    }

    private void push(
            ChannelHandlerContext ctx,
            RpcRdmaExchange reply,
            ByteBuf memory,
            int index,
            int length,
            int handle,
            long offset) {
        for (int done = 0; done < length; done += piece.length()) {
            piece.of(memory, index + done, length - done);
            push(ctx, reply, piece, handle, offset + done);
        }
    }

    private void push(
            ChannelHandlerContext ctx, RpcRdmaExchange reply, Piece data, int handle, long offset) {
        connection.metrics().add(RpcRdmaCounter.WRITE_BYTES, data.length());
        ByteBuf slice = data.memory().retainedSlice(data.index(), data.length());
        ctx.write(new RdmaWrite(slice, handle, offset))
                .addListener(connection.replyWork(reply.xid));
    }

    // ------------------------------------------------------------------ pipeline

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (!(message instanceof RpcRdmaExchange exchange)) {
            ctx.fireChannelRead(message);
        } else if (exchange.isRequester) {
            receiveReply(ctx, exchange);
        } else {
            receiveCall(ctx, exchange);
        }
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (!(message instanceof RpcRdmaExchange exchange) || exchange.isRejected) {
            ctx.write(message, promise);
        } else if (exchange.isRequester) {
            writeCall(ctx, exchange, promise);
        } else {
            writeReply(ctx, exchange, promise);
        }
    }
}
