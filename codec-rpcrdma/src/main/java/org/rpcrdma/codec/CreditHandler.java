// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;

/**
 * Flow control by credits (RFC 8166, 3.3.1). At the requester, calls wait in order for a credit, and for the
 * connection's memory if they offer any for their reply. At the responder, counts the calls in progress and closes a
 * connection whose peer sends more calls than it was granted.
 */
final class CreditHandler extends DirectlyLinkedStageHandler {

    private final RpcRdmaConnection connection;
    private final ConnectionSharedState link;
    private final RequesterState requester;
    private final ResponderState responder;
    private final ArrayDeque<OutboundCallState> queue = new ArrayDeque<>();

    CreditHandler(RpcRdmaConnection connection) {
        this.connection = connection;
        link = connection.link();
        requester = connection.requester();
        responder = connection.responder();
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (message instanceof OutboundCallState call) {
            receiveReply(ctx, call);
        } else if (message instanceof InboundCallState call) {
            receiveCall(call);
        } else {
            toUser(message);
        }
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (message instanceof OutboundCallState call) {
            writeCall(call, promise);
        } else if (message instanceof InboundCallState) {
            responder.credits.answered();
            toNetwork(message, promise);
        } else if (message instanceof RdmaDoneMessage completion) {
            complete(ctx, completion);
            drain();
        } else if (message instanceof RpcRdmaCancel cancel) {
            cancel(cancel);
            promise.trySuccess();
            link.flushes().flushRequested();
        } else {
            toNetwork(message, promise);
        }
    }

    // ------------------------------------------------------------------ requester

    private void receiveReply(ChannelHandlerContext ctx, OutboundCallState call) {
        requester.takeGrant(call);
        if (!call.isCancelled) {
            toUser(call);
        } else {
            if (call.reply.pull != null) {
                complete(ctx, call.completion());
            }
            requester.finish(call);
        }
        if (!queue.isEmpty()) {
            drain();
        }
    }

    private void writeCall(OutboundCallState call, ChannelPromise promise) {
        if (queue.isEmpty() && requester.maySend(call)) {
            send(call, promise);
        } else if (queue.size() < link.config().maxQueuedCalls()) {
            call.queue(promise, link.metrics.startTime());
            queue.add(call);
            link.metrics.increment(RpcRdmaCounter.CALLS_QUEUED);
            publishWaiting();
        } else {
            requester.fail(
                    call, promise, new CallQueueFullException(link.config().maxQueuedCalls()));
        }
    }

    private void drain() {
        while (!queue.isEmpty() && requester.maySend(queue.peek())) {
            OutboundCallState call = queue.poll();
            publishWaiting();
            link.metrics.creditGot(call.queuedNanos());
            send(call, call.dequeue());
            link.flushes().request();
        }
    }

    private void publishWaiting() {
        link.metrics.set(RpcRdmaGauge.CALLS_WAITING, queue.size());
    }

    private void send(OutboundCallState call, ChannelPromise promise) {
        if (!promise.isVoid() && !promise.setUncancellable()) {
            requester.fail(call, promise, promise.cause());
            return;
        }
        requester.admit(call);
        toNetwork(call, promise);
    }

    /** Sends a pull completion. It uses the credit that its reply has returned, and does not wait behind calls. */
    private void complete(ChannelHandlerContext ctx, RdmaDoneMessage completion) {
        requester.credits.completionSent();
        ctx.write(completion);
        link.flushes().request();
    }

    /** A cancelled call that was sent keeps its credit: the responder may still answer (RFC 8166, 4.4.1). */
    private void cancel(RpcRdmaCancel cancel) {
        OutboundCallState call = requester.call(cancel.xid());
        if (call == null || call.isCancelled) {
            return;
        }
        link.metrics.increment(RpcRdmaCounter.CALLS_CANCELLED);
        if (call.isQueued()) {
            queue.remove(call);
            publishWaiting();
            requester.fail(call, call.dequeue(), cancel.exception());
            drain(); // calls queued behind this one may need less memory
        } else {
            call.cancel(cancel.fences());
        }
    }

    // ------------------------------------------------------------------ responder

    /** Admits a call; closes the connection when the peer had no credit for it. */
    private void receiveCall(InboundCallState call) {
        if (responder.tryAcquireCredit()) {
            toUser(call);
            return;
        }
        ResponderCredits credits = responder.credits;
        String problem =
                "the peer has "
                        + credits.unanswered()
                        + " calls in flight (expected: at most the "
                        + credits.granted()
                        + " granted)";
        int xid = call.xid;
        responder.finish(call);
        link.report(xid, InboundMessageRefusal.close(RpcRdmaCounter.CREDIT_OVERRUNS, problem));
    }

    // ------------------------------------------------------------------ end

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        end();
        ctx.fireChannelInactive();
    }

    @Override
    void removed(ChannelHandlerContext ctx) {
        end();
    }

    private void end() {
        ClosedChannelException cause = queue.isEmpty() ? null : new CallNotSentException();
        for (OutboundCallState call = queue.poll(); call != null; call = queue.poll()) {
            requester.fail(call, call.dequeue(), cause);
        }
        connection.close();
    }
}
