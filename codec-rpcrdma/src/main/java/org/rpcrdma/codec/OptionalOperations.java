// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;

/**
 * Optional operations of version 2 (draft-cel-nfsv4-rpcrdma-version-two-01, 3): gives each to the handler of its type. It sits
 * behind the credits, which count an operation like any other call, and before the handlers that know RPC messages, which
 * never see one.
 */
final class OptionalOperations extends ChannelDuplexHandler {

    private final RpcRdmaConnection connection;

    OptionalOperations(RpcRdmaConnection connection) {
        this.connection = connection;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (!(message instanceof RpcRdmaExchange exchange) || exchange.option == null) {
            ctx.fireChannelRead(message);
        } else if (exchange.isRequester) {
            receiveReply(ctx, exchange);
        } else {
            receiveCall(ctx, exchange);
        }
    }

    private void receiveReply(ChannelHandlerContext ctx, RpcRdmaExchange call) {
        if (call.failure != null) {
            RpcRdmaFailure failure = new RpcRdmaFailure(call.xid, call.failure);
            connection.finish(call);
            ctx.fireChannelRead(failure);
            return;
        }
        RpcRdmaOption reply = call.takeOption();
        connection.finish(call);
        try {
            handler(reply).received(ctx.channel(), reply);
        } catch (Exception e) {
            ctx.fireExceptionCaught(e);
        }
    }

    private void receiveCall(ChannelHandlerContext ctx, RpcRdmaExchange exchange) {
        exchange.state = RpcRdmaExchange.State.DELIVERED;
        RpcRdmaOption call = exchange.option.retain();
        int xid = exchange.xid;
        try {
            handler(call).received(ctx.channel(), call);
        } catch (Exception e) {
            ctx.fireExceptionCaught(e);
            if (connection.served(xid) == exchange
                    && exchange.state == RpcRdmaExchange.State.DELIVERED) {
                LongMessageHandler.reject(
                        ctx, connection, exchange, "optional operation: " + e.getMessage());
            }
        }
    }

    private OptionHandler handler(RpcRdmaOption option) {
        return connection.config().versionTwo().option(option.type());
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (!(message instanceof RpcRdmaOption option)) {
            ctx.write(message, promise);
            return;
        }
        Exception problem = check(option);
        if (problem == null) {
            problem =
                    option.isReply()
                            ? writeReply(ctx, option, promise)
                            : writeCall(ctx, option, promise);
        }
        if (problem != null) {
            option.release();
            promise.tryFailure(problem);
        }
    }

    private Exception check(RpcRdmaOption option) {
        if (connection.config().versionTwo() == null || handler(option) == null) {
            return new IllegalArgumentException(
                    option + " (expected: a type with a handler in VersionTwo)");
        }
        return connection.writeProblem();
    }

    private Exception writeCall(
            ChannelHandlerContext ctx, RpcRdmaOption option, ChannelPromise promise) {
        Exception problem = connection.callProblem(option.xid());
        if (problem != null) {
            return problem;
        }
        if (connection.version() != TransportHeader.VERSION_TWO) {
            return new IllegalStateException(
                    "the responder speaks version "
                            + connection.version()
                            + " (expected: 2, which has optional operations)");
        }
        RpcRdmaExchange call = connection.newCall(option.xid());
        call.option = option;
        ctx.write(call, promise);
        return null;
    }

    private Exception writeReply(
            ChannelHandlerContext ctx, RpcRdmaOption option, ChannelPromise promise) {
        RpcRdmaExchange served = connection.served(option.xid());
        if (served == null
                || served.option == null
                || served.option.type() != option.type()
                || served.state != RpcRdmaExchange.State.DELIVERED) {
            return new IllegalStateException(
                    option + " (expected: the XID and the type of a call not answered yet)");
        }
        if (option.encodedBytes() > served.protocol.sendThreshold()) {
            String what =
                    "reply of "
                            + option.encodedBytes()
                            + " bytes to an optional operation (expected: at most "
                            + served.protocol.sendThreshold()
                            + ')';
            LongMessageHandler.reject(ctx, connection, served, what);
            return new ReplyTooLongException(what);
        }
        served.takeOption().release();
        served.option = option;
        served.state = RpcRdmaExchange.State.REPLIED;
        ctx.write(served, promise);
        return null;
    }
}
