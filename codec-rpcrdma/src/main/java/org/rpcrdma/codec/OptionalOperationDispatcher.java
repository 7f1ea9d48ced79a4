// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import org.rpcrdma.codec.internal.UserExceptionLog;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Optional operations of version 2 (draft-cel-nfsv4-rpcrdma-version-two-01, 3): dispatches each to the handler of its
 * type. Placed after credits, which count an operation like any other call, and before the stages for RPC messages,
 * which never see an operation.
 */
final class OptionalOperationDispatcher extends DirectlyLinkedStageHandler {

    private final RpcRdmaConnection connection;
    private final ConnectionSharedState link;
    private final RequesterState requester;
    private final ResponderState responder;

    OptionalOperationDispatcher(RpcRdmaConnection connection) {
        this.connection = connection;
        link = connection.link();
        requester = connection.requester();
        responder = connection.responder();
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (message instanceof OutboundCallState call && call.request.option != null) {
            receiveReply(ctx, call);
        } else if (message instanceof InboundCallState call && call.request.option != null) {
            receiveCall(ctx, call);
        } else {
            toUser(message);
        }
    }

    private void receiveReply(ChannelHandlerContext ctx, OutboundCallState call) {
        if (call.reply.failure != null) {
            CallFailureMessage failure = new CallFailureMessage(call.xid, call.reply.failure);
            requester.finish(call);
            toUser(failure);
            return;
        }
        OptionalOperationMessage reply = call.reply.takeOption();
        requester.finish(call);
        try {
            handler(reply).received(ctx.channel(), reply);
        } catch (Throwable t) {
            UserExceptionLog.failed("OptionalOperationHandler.received", t);
        }
    }

    private void receiveCall(ChannelHandlerContext ctx, InboundCallState served) {
        served.delivered();
        OptionalOperationMessage call = served.request.option.retain();
        int xid = served.xid;
        try {
            handler(call).received(ctx.channel(), call);
        } catch (Throwable t) {
            UserExceptionLog.failed("OptionalOperationHandler.received", t);
            if (responder.call(xid) == served && served.isUnanswered()) {
                String problem = "optional operation: " + t.getMessage();
                ctx.write(responder.refuse(served, InboundMessageRefusal.chunkError(problem)));
            }
        }
    }

    private OptionalOperationHandler handler(OptionalOperationMessage option) {
        return link.config().versionTwo().option(option.type());
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (!(message instanceof OptionalOperationMessage option)) {
            toNetwork(message, promise);
            return;
        }
        Exception problem = check(option);
        if (problem == null) {
            problem = option.isReply() ? replyProblem(option) : callProblem(option);
        }
        if (problem != null) {
            option.release();
            promise.tryFailure(problem);
        } else if (option.isReply()) {
            writeReply(ctx, option, promise);
        } else {
            OutboundCallState call = requester.newCall(option.xid());
            call.request.take(option);
            toNetwork(call, promise);
        }
    }

    private Exception check(OptionalOperationMessage option) {
        if (link.config().versionTwo() == null || handler(option) == null) {
            return new IllegalArgumentException(
                    option + " (expected: a type with a handler in VersionTwoConfig)");
        }
        return connection.writeProblem();
    }

    private Exception callProblem(OptionalOperationMessage option) {
        Exception problem = requester.problem(option.xid());
        return problem == null && connection.version() != TransportHeader.VERSION_TWO
                ? new IllegalStateException(
                        "the responder speaks version "
                                + connection.version()
                                + " (expected: 2, which has optional operations)")
                : problem;
    }

    private Exception replyProblem(OptionalOperationMessage option) {
        InboundCallState call = responder.call(option.xid());
        boolean isAwaited =
                call != null
                        && call.isUnanswered()
                        && call.request.option != null
                        && call.request.option.type() == option.type();
        return isAwaited
                ? null
                : new IllegalStateException(
                        option + " (expected: the XID and the type of a call not answered yet)");
    }

    private void writeReply(
            ChannelHandlerContext ctx, OptionalOperationMessage option, ChannelPromise promise) {
        InboundCallState call = responder.call(option.xid());
        if (option.encodedBytes() > call.protocol.sendThreshold) {
            String problem =
                    "reply of "
                            + option.encodedBytes()
                            + " bytes to an optional operation (expected: at most "
                            + call.protocol.sendThreshold
                            + ')';
            InboundMessageRefusal refusal = InboundMessageRefusal.replyTooLong(problem);
            ctx.write(responder.refuse(call, refusal));
            option.release();
            promise.tryFailure(refusal.exception());
            return;
        }
        call.reply.takeOption(option);
        call.answered();
        toNetwork(call, promise);
    }
}
