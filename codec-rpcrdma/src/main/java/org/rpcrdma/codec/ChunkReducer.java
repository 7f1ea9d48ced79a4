// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import org.rpcrdma.codec.binding.MalformedXdrException;
import org.rpcrdma.codec.binding.Reduction;
import org.rpcrdma.codec.binding.ReplyLimits;
import org.rpcrdma.codec.binding.XdrCursor;

/**
 * Reduction (RFC 8166, 3.4): moves DDP-eligible items between the payload stream and chunks, as the upper-layer bindings
 * say. The handlers after it see whole RPC messages.
 */
final class ChunkReducer extends ChannelDuplexHandler implements DuplicateRequests.Target {

    /** A GSS wrapping of results: length, sequence number and checksum, far longer than any in use. */
    private static final int GSS_OVERHEAD = 1024;

    private final RpcRdmaConnection connection;
    private ChannelHandlerContext context;

    ChunkReducer(RpcRdmaConnection connection) {
        this.connection = connection;
        connection.duplicates(this);
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        context = ctx;
    }

    /** The pipeline of a closed channel is emptied, but the handlers may still be at work on calls. */
    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        DuplicateRequests duplicates = connection.duplicates();
        if (connection.isClosed() && duplicates != null && duplicates.isExecuting()) {
            ctx.pipeline().addLast(new LateReplies(duplicates));
        }
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object written, ChannelPromise promise) {
        RpcMessage annotated = written instanceof RpcMessage holder ? holder : null;
        if (annotated == null && !(written instanceof ByteBuf)) {
            ctx.write(written, promise);
            return;
        }
        ByteBuf message = annotated == null ? (ByteBuf) written : annotated.content();
        if (connection.isClosed() && connection.duplicates() != null) {
            connection.duplicates().answeredLate(written);
        }
        Exception problem = check(message);
        if (problem == null) {
            int xid = message.getInt(message.readerIndex());
            problem =
                    message.getInt(message.readerIndex() + 4) == RpcCallHeader.CALL
                            ? writeCall(ctx, message, annotated, xid, promise)
                            : writeReply(ctx, message, annotated, xid, promise);
        }
        if (problem != null) {
            ReferenceCountUtil.release(written);
            promise.tryFailure(problem);
        }
    }

    private Exception check(ByteBuf message) {
        Exception problem = connection.writeProblem();
        if (problem != null) {
            return problem;
        }
        if (message.readableBytes() < RpcCallHeader.DIRECTION_BYTES) {
            return new IllegalArgumentException(
                    "RPC message of "
                            + message.readableBytes()
                            + " bytes (expected: XID, message type and more)");
        }
        int type = message.getInt(message.readerIndex() + 4);
        if (type != RpcCallHeader.CALL && type != RpcCallHeader.REPLY) {
            return new IllegalArgumentException(
                    "RPC message of type "
                            + Integer.toUnsignedString(type)
                            + " (expected: 0, a call, or 1, a reply; there is no record mark on"
                            + " RDMA)");
        }
        return null;
    }

    // ------------------------------------------------------------------ requester

    private Exception writeCall(
            ChannelHandlerContext ctx,
            ByteBuf message,
            RpcMessage annotated,
            int xid,
            ChannelPromise promise) {
        Exception wrong = connection.callProblem(xid);
        if (wrong != null) {
            return wrong;
        }
        RpcRdmaExchange call = connection.newCall(xid);
        keep(call, message, annotated);
        if (connection.config().metrics().wantsLatency()) {
            call.startNanos = System.nanoTime();
        }
        planReply(call, message);
        for (int i = 0; i < call.sinkCount(); i++) {
            if (call.sinkLength(i) < 0
                    || call.sinkLength(i) > connection.config().maxChunkBytes()) {
                connection.finish(call);
                promise.tryFailure(
                        new CallTooLongException(
                                "a result of up to "
                                        + Integer.toUnsignedString(call.sinkLength(i))
                                        + " bytes is above maxChunkBytes"));
                return null;
            }
        }
        Exception problem = null;
        if (annotated != null && annotated.items() > 0) {
            problem =
                    AnnotatedMessages.reduceArguments(
                            call, argumentsOf(message, connection.rpc(), annotated.reduction()));
        } else {
            reduceArguments(call, message);
        }
        if (problem != null) {
            connection.finish(call);
            promise.tryFailure(problem);
        } else {
            ctx.write(call, promise);
        }
        return null;
    }

    /** The exchange has a reference to the payload, and one to the annotated message that the payload belongs to. */
    private static void keep(RpcRdmaExchange exchange, ByteBuf message, RpcMessage annotated) {
        exchange.message = annotated == null ? message : message.retain();
        exchange.annotated = annotated;
    }

    /** How long the reply can get, and which results get Write chunks (RFC 8166, 4.3.2 and 6.2). */
    private void planReply(RpcRdmaExchange call, ByteBuf message) {
        long header = RpcCallHeader.REPLY_HEADER_BYTES + RpcCallHeader.MAXIMUM_VERIFIER_BYTES;
        RpcCallHeader rpc = connection.rpc();
        ReplyLimits limits = connection.limits();
        limits.clear();
        if (rpc.decode(message, message.readerIndex(), message.writerIndex())) {
            call.binding = connection.config().bindings().find(rpc.program(), rpc.version());
            call.version = rpc.version();
            call.procedure = rpc.procedure();
            call.isReducible = rpc.isReductionAllowed();
            limitResults(call, message, rpc, limits);
        }
        if (limits.isKnown()) {
            call.replyLimit = header + limits.totalBytes();
            call.isReplyBounded = true;
        } else {
            limits.results(connection.config().defaultMaximumReply());
        }
        if (!connection.callsMayHaveChunks()) {
            return; // nothing is offered, and the reply is short (RFC 8167, 5.3)
        }
        call.replyMaximum = header + limits.totalBytes() + (call.isReducible ? 0 : GSS_OVERHEAD);
        int growth = call.annotated == null ? 0 : call.annotated.growth();
        boolean fits =
                call.protocol.headerBytes() + call.replyMaximum <= call.protocol.receiveThreshold()
                        && growth == 0;
        if (!fits && call.isReducible && limits.sinks() > 0) {
            call.replyMaximum = header + limits.fixedBytes();
            for (int i = 0; i < limits.sinks(); i++) {
                call.addSink((int) Math.min(limits.sinkBytes(i), 0xFFFFFFFFL));
            }
        }
        if (call.annotated != null) {
            AnnotatedMessages.planReply(call, limits, header);
        }
    }

    /** Arguments of GSS calls other than plain ones are not where the binding looks for them. */
    private void limitResults(
            RpcRdmaExchange call, ByteBuf message, RpcCallHeader rpc, ReplyLimits limits) {
        if (!rpc.isReductionAllowed()) {
            return;
        }
        Reduction reduction = call.annotated == null ? Reduction.NONE : call.annotated.reduction();
        XdrCursor in = argumentsOf(message, rpc, reduction);
        try {
            call.binding.limitResults(call.version, call.procedure, in, limits);
        } catch (MalformedXdrException e) {
            limits.clear(); // the responder will say so; until then nothing is known of its reply
        } finally {
            in.release();
        }
    }

    private XdrCursor argumentsOf(ByteBuf message, RpcCallHeader rpc, Reduction reduction) {
        return connection
                .cursor()
                .wrap(
                        message,
                        message.readerIndex(),
                        rpc.argumentsIndex(),
                        message.writerIndex(),
                        reduction);
    }

    /** Moves eligible arguments into Read chunks when the call does not fit inline but does so without them. */
    private void reduceArguments(RpcRdmaExchange call, ByteBuf message) {
        int limit = call.protocol.sendThreshold();
        if (!call.isReducible
                || !connection.callsMayHaveChunks()
                || LongMessageHandler.callHeaderBytes(call) + message.readableBytes() <= limit) {
            return;
        }
        XdrCursor in = argumentsOf(message, connection.rpc(), Reduction.NONE);
        try {
            call.binding.walkArguments(call.version, call.procedure, in);
        } catch (MalformedXdrException e) {
            return; // carried whole: the responder judges it
        } finally {
            in.release();
        }
        for (int i = 0; i < in.items(); i++) {
            if (in.itemLength(i) > 0 && in.itemLength(i) <= connection.config().maxChunkBytes()) {
                call.items.add(in.itemPosition(i), in.itemIndex(i), in.itemLength(i), i);
            }
        }
        int payload = message.readableBytes() - call.items.removedBytes();
        if (LongMessageHandler.callHeaderBytes(call) + payload > limit) {
            call.items.clear();
        }
    }

    private void receiveReply(ChannelHandlerContext ctx, RpcRdmaExchange call) {
        if (call.header.reads().segments() > 0) {
            if (call.failure == null && pull(ctx, call)) {
                return;
            }
            ctx.write(PullCompletion.plain(call.xid, call.protocol.number()));
            connection.metrics().increment(RpcRdmaCounter.BAD_REPLIES);
            connection.problem(call.xid, call.failure.getMessage(), "the call fails");
        }
        end(ctx, call);
    }

    /** All Reads of a reply have ended; whatever came of them, the responder is told (reliable reply draft, 4.1.2). */
    private void pulledReply(RpcRdmaExchange call, boolean success) {
        if (!success && !call.isPullRefused()) {
            // The call is lost with the connection, and can be sent again on the next one.
            connection.closeNow("an RDMA Read has failed", null);
            return;
        }
        if (!success) {
            call.failure = new PullException("the Read chunks of the reply cannot be read");
        }
        completeReply(call, success);
    }

    private void completeReply(RpcRdmaExchange call, boolean success) {
        context.write(
                success
                        ? PullCompletion.of(call)
                        : PullCompletion.plain(call.xid, call.protocol.number()));
        if (call.state == RpcRdmaExchange.State.ZOMBIE) {
            connection.finish(call);
        } else {
            if (success) {
                call.message = call.assembly.setIndex(0, call.layout.memoryBytes());
                call.assembly = null;
            }
            end(context, call);
            context.fireChannelReadComplete();
        }
        connection.flushNow(context);
    }

    /**
     * What was pulled as a call of the other direction is a reply (RFC 8167, 4.1): its call takes it over.
     *
     * @param notPulled why it could not be pulled, and is taken for the reply that is awaited; {@code null} when it was
     */
    private void takeReply(RpcRdmaExchange pulled, String notPulled) {
        RpcRdmaExchange call = connection.call(pulled.xid);
        boolean isKnown =
                connection.isAwaited(pulled.xid) && HeaderChecks.match(call, pulled.header) == null;
        if (!isKnown) {
            connection.drop(RpcRdmaCounter.DROPPED_UNKNOWN_XID, pulled.xid, "reply without a call");
            connection.requesterCredits().completionDue();
            context.write(PullCompletion.plain(pulled.xid, pulled.protocol.number()));
            connection.finish(pulled);
            connection.flushNow(context);
            return;
        }
        String problem = notPulled;
        if (problem == null) {
            problem = HeaderChecks.reply(call, pulled.assembly, pulled.header, 0, true);
        }
        if (problem == null && pulled.layout.isApart() && pulled.layout.chunks() > 0) {
            problem = "results in Read chunks of their own";
        }
        call.fence();
        TransportHeader offered = call.header;
        call.header = pulled.header;
        pulled.header = offered;
        call.assembly = pulled.assembly;
        pulled.assembly = null;
        connection.finish(pulled);
        if (!connection.channel().isActive()) {
            return; // the call is lost with its connection (RFC 8166, 4.5.4)
        }
        connection.metrics().increment(RpcRdmaCounter.REPLIES_RECEIVED);
        connection.metrics().increment(RpcRdmaCounter.READ_CHUNK_REPLIES);
        RequesterCredits credits = connection.requesterCredits();
        credits.answered(call.completionsBefore);
        credits.repliedUndetermined();
        credits.completionDue();
        connection.publishCredits();
        call.isLong = true;
        if (problem != null) {
            call.failure = new PullException(problem);
            connection.metrics().increment(RpcRdmaCounter.BAD_REPLIES);
        }
        completeReply(call, problem == null);
    }

    private void end(ChannelHandlerContext ctx, RpcRdmaExchange call) {
        Object delivered;
        if (call.failure != null) {
            delivered = new RpcRdmaFailure(call.xid, call.failure);
        } else {
            delivered = rebuildReply(call);
        }
        if (call.startNanos != 0) {
            connection.metrics().latency(System.nanoTime() - call.startNanos);
        }
        connection.finish(call);
        ctx.fireChannelRead(delivered);
    }

    /** The whole reply, or the failure of a responder that broke the binding. */
    private Object rebuildReply(RpcRdmaExchange call) {
        ByteBuf payload = call.message;
        int start = payload.readerIndex();
        if (call.isLong
                && (payload.getInt(start) != call.xid
                        || payload.getInt(start + 4) != RpcCallHeader.REPLY)) {
            return bad(
                    call,
                    new MalformedReplyException(
                            "what is in the Reply chunk or Read chunk is not the reply to this"
                                    + " call"));
        }
        WriteList returned = call.header.writes();
        XdrCursor results = connection.cursor();
        results.wrap(payload, start, start, start, Reduction.NONE);
        if (returned.chunks() == 0) {
            call.message = null;
            return annotated(call, payload, returned, results);
        }
        int index = RpcCallHeader.resultsIndex(payload, start, payload.writerIndex());
        if (index >= 0) {
            results.wrap(payload, start, index, payload.writerIndex(), returned);
            try {
                call.binding.walkResults(call.version, call.procedure, results);
            } catch (MalformedXdrException e) {
                return bad(call, new MalformedReplyException("the results end too early"));
            } finally {
                results.release();
            }
        }
        RpcRdmaException problem = checkResults(returned, results);
        if (problem != null) {
            return bad(call, problem);
        }
        if (call.annotated != null && call.annotated.sinks() > 0) {
            call.message = null;
            return annotated(call, payload, returned, results);
        }
        return annotated(call, insertResults(call, payload, results), returned, results);
    }

    /** Gives back what was written: an annotated message for an annotated message. */
    private static Object annotated(
            RpcRdmaExchange call, ByteBuf payload, WriteList returned, XdrCursor results) {
        return call.annotated == null
                ? payload
                : AnnotatedMessages.reply(call, payload, returned, results);
    }

    /** RFC 8166, 6.1 and 3.4.6: which results were placed, and how long they are. */
    private static RpcRdmaException checkResults(WriteList returned, XdrCursor results) {
        for (int c = 0; c < returned.chunks(); c++) {
            long placed = returned.chunkLength(c);
            if (c >= results.items()) {
                if (placed > 0) {
                    return new EligibilityException(
                            "a result that is not eligible was placed directly");
                }
                continue;
            }
            int length = results.itemLength(c);
            if (placed == 0 && length > 0 && !returned.isEmptyChunk(c)) {
                return new EligibilityException(
                        "an eligible result was left inline in spite of its Write chunk");
            }
            // Older responders count the round-up in, so the count word decides.
            if (placed != 0 && placed != length && placed != XdrCursor.roundUp(length)) {
                return new MalformedReplyException(
                        "a result of " + length + " bytes came as a Write chunk of " + placed);
            }
        }
        return null;
    }

    private RpcRdmaFailure bad(RpcRdmaExchange call, RpcRdmaException problem) {
        connection.metrics().increment(RpcRdmaCounter.BAD_REPLIES);
        connection.problem(call.xid, problem.getMessage(), "the call fails");
        return new RpcRdmaFailure(call.xid, problem);
    }

    private ByteBuf insertResults(RpcRdmaExchange call, ByteBuf payload, XdrCursor results) {
        int reduced = 0;
        for (int i = 0; i < results.items(); i++) {
            reduced += results.isItemReduced(i) ? 1 : 0;
        }
        if (reduced == 0) {
            call.message = null;
            return payload;
        }
        int room = call.protocol.receiveThreshold();
        int before = results.itemIndex(0) - payload.readerIndex();
        int after = payload.writerIndex() - results.itemIndex(0);
        if (results.items() == 1 && before <= room && after + 3 <= room) {
            return intoSink(call, payload, results, room, before, after);
        }
        CompositeByteBuf whole =
                connection.channel().alloc().compositeDirectBuffer(2 * reduced + reduced + 1);
        int index = payload.readerIndex();
        for (int i = 0; i < results.items(); i++) {
            if (!results.isItemReduced(i)) {
                continue;
            }
            int length = results.itemLength(i);
            int at = results.itemIndex(i);
            whole.addComponent(true, payload.retainedSlice(index, at - index));
            // The memory after the data is ours and at least a threshold long: the pad fits there.
            ByteBuf sink = call.takeSink(i);
            int pad = XdrCursor.roundUp(length) - length;
            sink.setZero(room + length, pad);
            whole.addComponent(true, sink.setIndex(room, room + length + pad));
            index = at;
        }
        return whole.addComponent(
                true, payload.retainedSlice(index, payload.writerIndex() - index));
    }

    /** One piece: what came inline goes around the data, which stays where the responder has put it. */
    private static ByteBuf intoSink(
            RpcRdmaExchange call,
            ByteBuf payload,
            XdrCursor results,
            int room,
            int before,
            int after) {
        ByteBuf sink = call.takeSink(0);
        int length = results.itemLength(0);
        int pad = XdrCursor.roundUp(length) - length;
        sink.setBytes(room - before, payload, payload.readerIndex(), before);
        sink.setZero(room + length, pad);
        sink.setBytes(room + length + pad, payload, results.itemIndex(0), after);
        return sink.setIndex(room - before, room + length + pad + after);
    }

    // ------------------------------------------------------------------ who pulls

    private void receiveCall(ChannelHandlerContext ctx, RpcRdmaExchange call) {
        if (call.header.reads().segments() == 0) {
            deliver(ctx, call, call.message);
            return;
        }
        if (call.failure != null) {
            takeReply(call, call.failure.getMessage());
            return;
        }
        if (!pull(ctx, call)) {
            LongMessageHandler.reject(ctx, connection, call, "no memory for the Read chunks");
        }
    }

    /** Reads what the handler of long messages has not read; {@code false} when there is no memory. */
    private boolean pull(ChannelHandlerContext ctx, RpcRdmaExchange exchange) {
        if (!exchange.isLong) {
            if (!LongMessageHandler.allocate(connection, exchange)) {
                exchange.failure =
                        exchange.isRequester ? LongMessageHandler.noMemory(exchange) : null;
                return false;
            }
            placeInline(exchange);
        }
        if (exchange.isRequester) {
            exchange.state = RpcRdmaExchange.State.REPLIED_BY_READ_CHUNK;
        }
        exchange.reader(this);
        pullChunks(ctx, exchange);
        exchange.readDone(true);
        return true;
    }

    private static void placeInline(RpcRdmaExchange call) {
        ReadLayout layout = call.layout;
        int index = call.message.readerIndex();
        for (int piece = 0; piece < layout.pieces(); piece++) {
            call.assembly.setBytes(
                    layout.pieceStart(piece), call.message, index, layout.pieceLength(piece));
            index += layout.pieceLength(piece);
        }
        call.releaseMessage();
    }

    private void pullChunks(ChannelHandlerContext ctx, RpcRdmaExchange call) {
        ReadList reads = call.header.reads();
        ReadLayout layout = call.layout;
        for (int chunk = 0; chunk < layout.chunks(); chunk++) {
            int at = layout.chunkStart(chunk);
            for (int i = 0; i < reads.segments(); i++) {
                int length = (int) reads.length(i);
                if (reads.position(i) == layout.position(chunk) && length > 0) {
                    LongMessageHandler.read(
                            ctx, connection, call, at, length, reads.handle(i), reads.offset(i));
                    at += length;
                }
            }
            // A chunk has no round-up of its own: the rebuilt stream needs it (3.4.5.2).
            call.assembly.setZero(at, layout.pad(chunk));
        }
    }

    /** All Reads have ended. */
    void pulled(RpcRdmaExchange call, boolean success) {
        if (!connection.isStarted()) {
            connection.finish(call);
            return;
        }
        if (call.isRequester) {
            pulledReply(call, success);
            return;
        }
        if (!success) {
            connection.finish(call);
            connection.closeNow("an RDMA Read has failed", null);
            return;
        }
        ByteBuf whole = call.assembly.setIndex(0, call.layout.memoryBytes());
        if (call.isUndetermined) {
            if (whole.getInt(4) == RpcCallHeader.REPLY) {
                takeReply(call, null);
                return;
            }
            call.isUndetermined = false;
            connection.metrics().increment(RpcRdmaCounter.CALLS_RECEIVED);
            connection.metrics().increment(RpcRdmaCounter.LONG_CALLS);
            if (!CreditHandler.admit(connection, call)) {
                return;
            }
        }
        String problem = null;
        boolean isGarbage = false;
        if (call.isLong && (whole.getInt(0) != call.xid || whole.getInt(4) != RpcCallHeader.CALL)) {
            problem = "what is in the Position Zero Read chunk is not this call";
        } else if (call.layout.chunks() > 0) {
            ArgumentCheck check = checkArguments(call, whole);
            isGarbage = check == ArgumentCheck.GARBAGE;
            problem =
                    check == ArgumentCheck.NOT_ELIGIBLE
                            ? "an argument that is not eligible was reduced"
                            : null;
        }
        if (problem != null) {
            LongMessageHandler.reject(context, connection, call, problem);
            connection.flushNow(context);
        } else if (isGarbage) {
            answerGarbage(call);
        } else {
            call.assembly = null;
            deliver(context, call, whole);
            context.fireChannelReadComplete();
        }
    }

    // ------------------------------------------------------------------ responder

    private enum ArgumentCheck {
        FINE,
        NOT_ELIGIBLE,
        GARBAGE
    }

    /** Only eligible arguments may be in chunks, and a chunk has the length of its item (RFC 8166, 6.1 and 3.4.5.2). */
    private ArgumentCheck checkArguments(RpcRdmaExchange call, ByteBuf whole) {
        RpcCallHeader rpc = connection.rpc();
        if (!rpc.decode(whole, 0, whole.writerIndex()) || !rpc.isReductionAllowed()) {
            return ArgumentCheck.NOT_ELIGIBLE;
        }
        XdrCursor in =
                argumentsOf(whole, rpc, call.layout.isApart() ? call.layout : Reduction.NONE);
        boolean isMalformed = false;
        try {
            connection
                    .config()
                    .bindings()
                    .find(rpc.program(), rpc.version())
                    .walkArguments(rpc.version(), rpc.procedure(), in);
        } catch (MalformedXdrException e) {
            isMalformed = true;
        } finally {
            in.release();
        }
        for (int chunk = 0; chunk < call.layout.chunks(); chunk++) {
            int item = 0;
            while (item < in.items() && in.itemPosition(item) != call.layout.position(chunk)) {
                item++;
            }
            if (item == in.items()) {
                return isMalformed ? ArgumentCheck.GARBAGE : ArgumentCheck.NOT_ELIGIBLE;
            }
            int length = in.itemLength(item);
            int pulled = call.layout.length(chunk);
            if (pulled != length && pulled != XdrCursor.roundUp(length)) {
                return ArgumentCheck.GARBAGE;
            }
            call.layout.itemLength(chunk, length);
        }
        return isMalformed ? ArgumentCheck.GARBAGE : ArgumentCheck.FINE;
    }

    /** The arguments do not parse: that is for RPC to say, not for the transport (RFC 8166, 4.5.2). */
    private void answerGarbage(RpcRdmaExchange call) {
        connection.metrics().increment(RpcRdmaCounter.GARBAGE_ARGS_SENT);
        connection.problem(
                call.xid, "chunk and argument differ in length", "answered with GARBAGE_ARGS");
        ByteBuf reply = connection.buffer(RpcCallHeader.REPLY_HEADER_BYTES);
        reply.writeInt(call.xid).writeInt(RpcCallHeader.REPLY).writeInt(0).writeLong(0);
        reply.writeInt(RpcCallHeader.GARBAGE_ARGS);
        ReferenceCountUtil.release(call.assembly);
        call.assembly = null;
        call.message = reply;
        call.state = RpcRdmaExchange.State.REPLIED;
        context.writeAndFlush(call);
    }

    private void deliver(ChannelHandlerContext ctx, RpcRdmaExchange call, ByteBuf whole) {
        call.message = null;
        call.state = RpcRdmaExchange.State.DELIVERED;
        RpcCallHeader rpc = connection.rpc();
        DuplicateRequests duplicates = connection.duplicates();
        boolean isDecoded =
                (call.header.writes().chunks() > 0 || duplicates != null)
                        && rpc.decode(whole, whole.readerIndex(), whole.writerIndex());
        if (isDecoded) {
            call.binding = connection.config().bindings().find(rpc.program(), rpc.version());
            call.version = rpc.version();
            call.procedure = rpc.procedure();
            call.isReducible = rpc.isReductionAllowed();
        }
        if (duplicates == null || !isDecoded || duplicates.admit(call, whole, rpc)) {
            handOn(ctx, call, whole);
        }
    }

    private void handOn(ChannelHandlerContext ctx, RpcRdmaExchange call, ByteBuf whole) {
        ctx.fireChannelRead(
                connection.config().annotatedCalls()
                        ? AnnotatedMessages.call(call, whole, call.header.reads().segments() > 0)
                        : whole);
    }

    /** A call that was executed already is answered into the chunks that it offers this time. */
    @Override
    public void replay(RpcRdmaExchange call, ByteBuf reply) {
        call.state = RpcRdmaExchange.State.DELIVERED;
        ChannelPromise promise = context.newPromise();
        writeReply(context, reply, null, call.xid, promise);
        context.flush();
    }

    /** Whoever was to answer the call is gone: it is executed here. */
    @Override
    public void execute(RpcRdmaExchange call) {
        ByteBuf whole = call.message;
        call.message = null;
        call.state = RpcRdmaExchange.State.DELIVERED;
        handOn(context, call, whole);
        context.fireChannelReadComplete();
        connection.flushNow(context);
    }

    private Exception writeReply(
            ChannelHandlerContext ctx,
            ByteBuf message,
            RpcMessage annotated,
            int xid,
            ChannelPromise promise) {
        RpcRdmaExchange reply = connection.served(xid);
        if (reply == null
                || reply.option != null
                || reply.state != RpcRdmaExchange.State.DELIVERED) {
            return new IllegalStateException(
                    "reply with XID 0x"
                            + Integer.toHexString(xid)
                            + " (expected: that of a call not answered yet)");
        }
        if (annotated != null && annotated.items() > 0) {
            Exception wrong = keepReply(reply, annotated);
            if (wrong != null) {
                return wrong;
            }
        } else {
            keep(reply, message, annotated);
        }
        reply.state = RpcRdmaExchange.State.REPLIED;
        if (connection.duplicates() != null) {
            connection.duplicates().answered(xid, reply.message, reply.annotated);
        }
        String problem = reduceResults(reply);
        if (problem != null) {
            LongMessageHandler.reject(ctx, connection, reply, problem);
            promise.tryFailure(new ReplyTooLongException(problem));
        } else {
            ctx.write(reply, promise);
        }
        return null;
    }

    /** Items of a reply have to be eligible; when one has no Write chunk they all go with the payload. */
    private Exception keepReply(RpcRdmaExchange reply, RpcMessage annotated) {
        String problem = annotated.problem();
        if (problem != null) {
            return new IllegalArgumentException(problem);
        }
        ByteBuf payload = annotated.content();
        int start = payload.readerIndex();
        int end = payload.writerIndex();
        boolean isWhole = !reply.isReducible;
        if (reply.isReducible) {
            int index = RpcCallHeader.resultsIndex(payload, start, end);
            boolean isComplete = true;
            XdrCursor in =
                    connection
                            .cursor()
                            .wrap(
                                    payload,
                                    start,
                                    Math.max(index, start),
                                    end,
                                    annotated.reduction());
            try {
                if (index >= 0) {
                    reply.binding.walkResults(reply.version, reply.procedure, in);
                }
            } catch (MalformedXdrException e) {
                isComplete = false;
            } finally {
                in.release();
            }
            Exception wrong = AnnotatedMessages.checkResults(annotated, in, isComplete);
            if (wrong != null) {
                return wrong;
            }
            isWhole = !AnnotatedMessages.allHaveChunks(annotated, reply.header.writes(), in);
        }
        if (!isWhole) {
            keep(reply, payload, annotated);
            return null;
        }
        try {
            reply.message = AnnotatedMessages.merge(connection, annotated);
        } catch (IllegalStateException | ArithmeticException | IllegalArgumentException e) {
            return new MarshalException(e);
        }
        annotated.release();
        return null;
    }

    /** Eligible results take Write chunks in their order; an empty chunk keeps its result inline (RFC 8166, 4.3.2). */
    private String reduceResults(RpcRdmaExchange reply) {
        WriteList writes = reply.header.writes();
        ByteBuf message = reply.message;
        RpcMessage annotated = reply.annotated;
        int start = message.readerIndex();
        int end = message.writerIndex();
        int index = reply.isReducible ? RpcCallHeader.resultsIndex(message, start, end) : -1;
        if (index < 0) {
            return null;
        }
        Reduction reduction = annotated == null ? Reduction.NONE : annotated.reduction();
        XdrCursor in = connection.cursor().wrap(message, start, index, end, reduction);
        try {
            reply.binding.walkResults(reply.version, reply.procedure, in);
        } catch (MalformedXdrException e) {
            return null; // carried as it is: the requester judges it
        } finally {
            in.release();
        }
        for (int i = 0; i < in.items() && i < writes.chunks(); i++) {
            if (writes.isEmptyChunk(i)) {
                continue;
            }
            if (in.itemLength(i) > writes.chunkLength(i)) {
                return "result of "
                        + in.itemLength(i)
                        + " bytes (expected: at most the "
                        + writes.chunkLength(i)
                        + " of its Write chunk)";
            }
            ByteBuf apart =
                    in.isItemReduced(i)
                            ? AnnotatedMessages.memory(annotated, in.itemPosition(i))
                            : null;
            if (apart == null) {
                reply.items.add(in.itemPosition(i), in.itemIndex(i), in.itemLength(i), i);
            } else {
                reply.items.addApart(in.itemPosition(i), in.itemIndex(i), i, apart);
            }
        }
        return null;
    }

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
}
