// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;

/**
 * Credits (RFC 8166, 3.3.1): calls without one wait in order; replies bring new ones. As responder counts the calls that are
 * not answered and ends a connection that sends more than it was granted.
 */
final class CreditHandler extends ChannelDuplexHandler {

    private final RpcRdmaConnection connection;
    private final ArrayDeque<RpcRdmaExchange> queue = new ArrayDeque<>();

    CreditHandler(RpcRdmaConnection connection) {
        this.connection = connection;
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

    private void receiveReply(ChannelHandlerContext ctx, RpcRdmaExchange call) {
        RequesterCredits credits = connection.requesterCredits();
        int credit = call.header.credit();
        credits.answered(call.completionsBefore);
        if (call.isRefused) {
            credits.failed(credit);
        } else if (!credits.replied(credit)) {
            connection.metrics().increment(RpcRdmaCounter.ZERO_GRANTS);
        }
        boolean isOffered = call.header.reads().segments() > 0;
        if (isOffered) {
            credits.completionDue();
        }
        connection.publishCredits();
        if (call.state == RpcRdmaExchange.State.ZOMBIE) {
            if (isOffered) {
                complete(ctx, PullCompletion.plain(call.xid, call.protocol.number()));
            }
            connection.finish(call);
        } else {
            ctx.fireChannelRead(call);
        }
        drain(ctx);
    }

    private void drain(ChannelHandlerContext ctx) {
        RequesterCredits credits = connection.requesterCredits();
        while (!queue.isEmpty() && credits.allowed() > 0) {
            RpcRdmaExchange call = queue.poll();
            ChannelPromise promise = call.promise;
            call.promise = null;
            send(ctx, call, promise);
            connection.flushLater();
        }
    }

    private void send(ChannelHandlerContext ctx, RpcRdmaExchange call, ChannelPromise promise) {
        if (!promise.isVoid() && !promise.setUncancellable()) {
            call.fence();
            connection.finish(call);
            return;
        }
        call.completionsBefore = connection.requesterCredits().sent();
        connection.publishCredits();
        ctx.write(call, promise);
    }

    /** It needs no credit but the one that its reply has given back, and does not wait behind calls. */
    private void complete(ChannelHandlerContext ctx, PullCompletion completion) {
        connection.requesterCredits().completionSent();
        ctx.write(completion);
        connection.flushLater();
    }

    private void receiveCall(ChannelHandlerContext ctx, RpcRdmaExchange call) {
        // What may be a reply has no credit of a call.
        if (call.isUndetermined || admit(connection, call)) {
            ctx.fireChannelRead(call);
        }
    }

    /** Whether the peer had a credit for its call; without one the connection ends. */
    static boolean admit(RpcRdmaConnection connection, RpcRdmaExchange call) {
        ResponderCredits credits = connection.responderCredits();
        if (!credits.received()) {
            connection.metrics().increment(RpcRdmaCounter.CREDIT_OVERRUNS);
            connection.finish(call);
            connection.closeNow(
                    "the peer has "
                            + credits.unanswered()
                            + " calls out (expected: at most the "
                            + credits.granted()
                            + " granted)",
                    null);
            return false;
        }
        connection.grants().received();
        return true;
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (message instanceof RpcRdmaExchange exchange) {
            if (exchange.isRequester) {
                writeCall(ctx, exchange, promise);
            } else {
                if (exchange.isUndetermined) {
                    connection.responderCredits().refused();
                } else {
                    connection.responderCredits().answered();
                }
                ctx.write(exchange, promise);
            }
        } else if (message instanceof PullCompletion completion) {
            complete(ctx, completion);
            drain(ctx);
        } else if (message instanceof RpcRdmaCancel cancel) {
            cancel(cancel);
            promise.trySuccess();
        } else {
            ctx.write(message, promise);
        }
    }

    private void writeCall(
            ChannelHandlerContext ctx, RpcRdmaExchange call, ChannelPromise promise) {
        if (queue.isEmpty() && connection.requesterCredits().allowed() > 0) {
            send(ctx, call, promise);
        } else if (queue.size() < connection.config().maxQueuedCalls()) {
            call.promise = promise;
            queue.add(call);
            connection.metrics().increment(RpcRdmaCounter.CALLS_QUEUED);
        } else {
            connection.finish(call);
            promise.tryFailure(new CallQueueFullException(connection.config().maxQueuedCalls()));
        }
    }

    /** The call still holds its credit: the responder may answer it (RFC 8166, 4.4.1). */
    private void cancel(RpcRdmaCancel cancel) {
        RpcRdmaExchange call = connection.call(cancel.xid());
        if (call == null || call.state == RpcRdmaExchange.State.ZOMBIE) {
            return;
        }
        connection.metrics().increment(RpcRdmaCounter.CALLS_CANCELLED);
        if (call.state == RpcRdmaExchange.State.QUEUED) {
            queue.remove(call);
            ChannelPromise promise = call.promise;
            connection.finish(call);
            promise.tryFailure(cancel.exception());
        } else {
            if (cancel.fences()) {
                call.fence();
                call.releaseAnnotated();
            }
            call.state = RpcRdmaExchange.State.ZOMBIE;
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        fail();
        ctx.fireChannelInactive();
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        fail();
    }

    private void fail() {
        ClosedChannelException cause = queue.isEmpty() ? null : new NotSentException();
        for (RpcRdmaExchange call = queue.poll(); call != null; call = queue.poll()) {
            ChannelPromise promise = call.promise;
            connection.finish(call);
            promise.tryFailure(cause);
        }
        connection.close();
    }
}
