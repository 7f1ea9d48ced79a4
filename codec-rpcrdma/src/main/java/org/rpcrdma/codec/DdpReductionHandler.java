// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import org.rpcrdma.codec.binding.BindingRegistry;
import org.rpcrdma.codec.internal.CallAnsweredException;
import org.rpcrdma.codec.internal.DroppedCallListener;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.OutboundRecordMarkDetector;

/**
 * Reduction (RFC 8166, 3.4): moves DDP-eligible data items between the payload stream and chunks, as the upper-layer
 * bindings define. The handlers after this stage see whole RPC messages, and with a duplicate request cache no call
 * twice; they may write record marks, which this stage removes.
 */
final class DdpReductionHandler extends DirectlyLinkedStageHandler
        implements DuplicateRequestCacheAccess.Target, DroppedCallListener {

    private final RpcRdmaConnection connection;
    private final ConnectionSharedState link;
    private final ConnectionMetrics metrics;
    private final RequesterState requester;
    private final ResponderState responder;
    private final OutboundCallChunkPlanner callPlan;
    private final InboundReplyAssembler replyReader;
    private final InboundCallDdpEligibilityValidator callChecks;
    private final OutboundReplyChunkPlanner replyPlan;
    private final OncRpcHeaderDecoder rpc = new OncRpcHeaderDecoder();

    private final OutboundRecordMarkRemover marks;

    /** First words of the message being written. */
    private final OncRpcHeaderDecoder outbound = new OncRpcHeaderDecoder();

    private final BindingRegistry bindings;
    private final boolean annotatesCalls;

    /** {@code null} without a cache. */
    private final DuplicateRequestCacheAccess duplicates;

    /**
     * @param cache of the replies to calls that come again; {@code null} for none
     */
    DdpReductionHandler(RpcRdmaConnection connection, DuplicateRequestCache cache) {
        this.connection = connection;
        link = connection.link();
        metrics = link.metrics;
        requester = connection.requester();
        responder = connection.responder();
        callPlan = new OutboundCallChunkPlanner(link, outbound);
        replyReader = new InboundReplyAssembler(link);
        callChecks = new InboundCallDdpEligibilityValidator(link);
        replyPlan = new OutboundReplyChunkPlanner(link);
        marks = new OutboundRecordMarkRemover(connection);
        bindings = link.config().bindings();
        annotatesCalls = link.config().annotatedCalls();
        duplicates = cache == null ? null : new DuplicateRequestCacheAccess(link, cache, this);
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        if (duplicates != null) {
            duplicates.close();
        }
        ctx.fireChannelInactive();
    }

    /** Netty empties the pipeline of a closed channel, but handlers may still be executing calls. */
    @Override
    void removed(ChannelHandlerContext ctx) {
        if (duplicates != null) {
            duplicates.close();
            if (connection.isClosed && duplicates.isExecuting()) {
                ctx.pipeline().addLast(new OutboundLateReplyCacheHandler(duplicates));
            }
        }
    }

    // ------------------------------------------------------------------ written

    @Override
    public void write(ChannelHandlerContext ctx, Object written, ChannelPromise promise) {
        ByteBuf message = RpcMessage.payloadOf(written);
        if (message == null) {
            toNetwork(written, promise);
            return;
        }
        boolean hasType = outbound.decodeStart(message);
        boolean mayHaveMark =
                !hasType
                        || OutboundRecordMarkDetector.mayHaveMark(
                                outbound.xid, outbound.type, message.readableBytes());
        if (mayHaveMark && written == message) {
            writeUnmarked(ctx, message, promise);
        } else {
            write(ctx, written, message, hasType, promise);
        }
    }

    private void writeUnmarked(ChannelHandlerContext ctx, ByteBuf written, ChannelPromise promise) {
        ByteBuf message = OutboundRecordMarkDetector.without(written, ctx.alloc());
        ByteBuf answer = marks.answerTo(message, ctx.alloc());
        if (answer != null) {
            write(ctx, answer, ctx.newPromise());
        }
        write(ctx, message, message, outbound.decodeStart(message), promise);
    }

    /** @param hasType whether {@link #outbound} has taken the XID and the type of the message */
    private void write(
            ChannelHandlerContext ctx,
            Object written,
            ByteBuf message,
            boolean hasType,
            ChannelPromise promise) {
        if (connection.isClosed && duplicates != null) {
            duplicates.answeredLate(written);
        }
        Exception problem = problem(message, hasType);
        if (problem != null) {
            refuse(written, promise, problem);
        } else if (outbound.type == OncRpcHeaderDecoder.CALL) {
            writeCall(written, outbound.xid, promise);
        } else {
            writeReply(ctx, written, outbound.xid, promise);
        }
    }

    private static void refuse(Object written, ChannelPromise promise, Exception problem) {
        ReferenceCountUtil.release(written);
        promise.tryFailure(problem);
    }

    /** Why a message cannot be written; {@code null} when it can. */
    private Exception problem(ByteBuf message, boolean hasType) {
        Exception problem = connection.writeProblem();
        if (problem != null) {
            return problem;
        }
        if (!hasType) {
            return new IllegalArgumentException(
                    "RPC message of "
                            + message.readableBytes()
                            + " bytes (expected: XID, message type and more)");
        }
        int type = outbound.type;
        if (!OncRpcHeaderDecoder.isType(type)) {
            return new IllegalArgumentException(
                    "RPC message of type "
                            + Integer.toUnsignedString(type)
                            + " (expected: 0, a call, or 1, a reply; a record mark only in front"
                            + " of one whole message; RecordMarkingAdapter takes any bytes)");
        }
        return null;
    }

    private void writeCall(Object written, int xid, ChannelPromise promise) {
        Exception problem = requester.problem(xid);
        if (problem != null) {
            refuse(written, promise, problem);
            return;
        }
        OutboundCallState call = requester.newCall(xid);
        long start = metrics.startTime();
        call.request.take(written, start);
        if (start != 0) {
            requester.ages().add(call, start);
        }
        try {
            callPlan.plan(call);
        } catch (Throwable t) {
            requester.fail(call, promise, MarshalException.of(t));
            return;
        }
        toNetwork(call, promise);
    }

    private void writeReply(
            ChannelHandlerContext ctx, Object written, int xid, ChannelPromise promise) {
        if (!promise.isVoid() && !promise.setUncancellable()) {
            ReferenceCountUtil.release(written); // the call is still to be answered
            return;
        }
        InboundCallState call = responder.call(xid);
        if (call == null || call.request.option != null || !call.isUnanswered()) {
            refuse(written, promise, new CallAnsweredException(xid));
            return;
        }
        try {
            replyPlan.take(call, written);
        } catch (RpcRdmaException | IllegalArgumentException e) {
            refuse(written, promise, e); // the call is still to be answered
            return;
        } catch (Throwable t) {
            ReferenceCountUtil.release(written);
            replyFailed(ctx, call, promise, t);
            return;
        }
        call.answered();
        if (duplicates != null) {
            duplicates.answered(xid, call.reply.payload.stream, call.reply.payload.parts);
        }
        InboundMessageRefusal refusal;
        try {
            refusal = replyPlan.reduce(call);
        } catch (Throwable t) {
            replyFailed(ctx, call, promise, t);
            return;
        }
        if (refusal == null) {
            toNetwork(call, promise);
        } else {
            ctx.write(responder.refuse(call, refusal));
            promise.tryFailure(refusal.exception());
        }
    }

    /** Answers SYSTEM_ERR in the place of a failed reply, and stores that in the cache: the call was executed. */
    private void replyFailed(
            ChannelHandlerContext ctx,
            InboundCallState call,
            ChannelPromise promise,
            Throwable cause) {
        responder.refuse(call, InboundMessageRefusal.systemError(cause));
        if (duplicates != null) {
            duplicates.answered(call.xid, call.reply.payload.stream, call.reply.payload.parts);
        }
        ctx.write(call);
        promise.tryFailure(MarshalException.ofReply(cause));
    }

    @Override
    public void callDropped(int xid) {
        if (duplicates != null) {
            duplicates.unanswered(xid);
        }
    }

    // ------------------------------------------------------------------ read

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (message instanceof OutboundCallState call) {
            receiveReply(call);
        } else if (message instanceof InboundCallState call) {
            receiveCall(ctx, call);
        } else {
            toUser(message);
        }
    }

    private void receiveReply(OutboundCallState call) {
        Object delivered = null;
        if (call.reply.failure == null) {
            try {
                delivered = replyReader.read(call);
            } catch (RpcRdmaException e) {
                requester.spoil(call, e);
            } catch (Throwable t) {
                requester.spoil(call, new LocalReplyDecodeException(t));
            }
        }
        if (call.reply.failure != null) {
            delivered = new CallFailureMessage(call.xid, call.reply.failure);
        }
        long start = call.request.startNanos;
        if (start != 0) {
            String procedure = call.request.procedure.name();
            metrics.callEnded(RpcRdmaRole.REQUESTER, procedure, call.outcome(), start);
        }
        requester.finish(call);
        toUser(delivered);
    }

    private void receiveCall(ChannelHandlerContext ctx, InboundCallState call) {
        try {
            InboundMessageRefusal refusal = call.request.hasItems() ? callChecks.check(call) : null;
            if (refusal == null) {
                deliver(call);
            } else {
                ctx.write(responder.refuse(call, refusal));
            }
        } catch (Throwable t) {
            failUnexecuted(ctx, call, t);
        }
    }

    /** No handler has seen the call: its retransmission is executed, or a duplicate that waits. */
    private void failUnexecuted(ChannelHandlerContext ctx, InboundCallState call, Throwable cause) {
        if (duplicates != null) {
            duplicates.unanswered(call.xid);
        }
        ctx.write(responder.refuse(call, InboundMessageRefusal.systemError(cause)));
    }

    /** The call owns its message until a handler receives it. */
    private void deliver(InboundCallState call) throws FaultyUpperLayerBindingException {
        InboundCallPayload request = call.request;
        ByteBuf whole = request.message;
        boolean isDecoded =
                (call.chunks.header.writes().chunks() > 0 || duplicates != null)
                        && rpc.decode(whole, whole.readerIndex(), whole.writerIndex());
        if (isDecoded) {
            request.procedure.of(rpc, bindings);
        }
        if (request.startNanos != 0
                && (isDecoded || rpc.decode(whole, whole.readerIndex(), whole.writerIndex()))) {
            request.name(UpperLayerBindingInvoker.name(rpc, bindings));
        }
        if (duplicates == null || !isDecoded || duplicates.tryAdmit(call, rpc)) {
            handOn(call);
        }
    }

    private void handOn(InboundCallState call) {
        // Hadoop's parser takes positions for indexes; so the message begins at index 0.
        ByteBuf whole = call.request.message.discardReadBytes();
        Object message =
                annotatesCalls ? InboundCallDdpEligibilityValidator.inParts(call, whole) : whole;
        call.request.handOver();
        call.delivered();
        toUser(message);
    }

    // ------------------------------------------------------------------ duplicates

    /** The cached reply of an executed call uses the chunks of the retransmission. */
    @Override
    public void replay(InboundCallState call, ByteBuf reply) {
        call.delivered();
        writeReply(context(), reply, call.xid, context().newPromise());
        context().flush();
    }

    /** The connection that was executing the call has abandoned it: it is executed here. */
    @Override
    public void execute(InboundCallState call) {
        try {
            handOn(call);
        } catch (Throwable t) {
            failUnexecuted(context(), call, t);
        }
        context().fireChannelReadComplete();
        link.flushes().flushRequested();
    }
}
