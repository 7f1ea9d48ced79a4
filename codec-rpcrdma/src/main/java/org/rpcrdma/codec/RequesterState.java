// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelPromise;
import org.rpcrdma.codec.internal.ObjectPool;
import org.rpcrdma.codec.internal.XidHashMap;

/**
 * State of the requester of one connection: calls in flight, credits, and memory that is offered. Event loop only.
 */
final class RequesterState {

    private final ConnectionContext link;
    private final ConnectionMetrics metrics;
    private final long mostOfferedBytes;
    private final XidHashMap<OutboundCall> calls = new XidHashMap<>();
    private final ObjectPool<OutboundCall> spares;

    /** Memory of ours that calls which are not answered offer for their replies. */
    private long offeredBytes;

    /** {@code null} until calls may be sent. */
    private RequesterCredits credits;

    RequesterState(ConnectionContext link) {
        this.link = link;
        metrics = link.metrics();
        mostOfferedBytes = link.config().maxConnectionBytes();
        spares = new ObjectPool<>(() -> new OutboundCall(link));
        metrics.set(RpcRdmaGauge.CREDITS_GRANTED, 1);
    }

    // ------------------------------------------------------------------ credits

    /**
     * Calls may be sent from now on.
     *
     * @param requested credits that are asked for
     */
    void open(int requested) {
        credits = new RequesterCredits(requested);
        publishCredits();
    }

    /** Whether calls may be sent from here. */
    boolean isOpen() {
        return credits != null;
    }

    RequesterCredits credits() {
        return credits;
    }

    /** What was granted, and what of it is used, for those who watch from outside. */
    void publishCredits() {
        metrics.set(RpcRdmaGauge.CREDITS_GRANTED, credits.granted());
        metrics.set(RpcRdmaGauge.CALLS_IN_FLIGHT, credits.inFlight());
    }

    // ------------------------------------------------------------------ calls

    /** Why no call with this XID can be sent; {@code null} when it can. */
    Exception problem(int xid) {
        if (link.isOutputClosed()) {
            return new NotSentException();
        }
        if (!isOpen()) {
            return new IllegalStateException(
                    "call from the accepting side (expected: none before allowReverseCalls says"
                            + " that the peer is ready; RFC 8167, 6)");
        }
        if (link.isServer() && !link.versions().isSettled()) {
            return new IllegalStateException(
                    "call before one of the peer was answered (expected: none, it has the version"
                            + " of the peer's calls)");
        }
        return calls.containsKey(xid)
                ? new IllegalStateException(
                        "call with XID 0x"
                                + Integer.toHexString(xid)
                                + " (expected: one that is not in use)")
                : null;
    }

    /** A call that has no {@link #problem}; {@link #finish} or {@link #fail} ends it. */
    OutboundCall newCall(int xid) {
        OutboundCall call = spares.take().begin(xid, link.versions().current());
        calls.put(xid, call);
        return call;
    }

    /** The call with this XID; {@code null} when there is none. */
    OutboundCall call(int xid) {
        return calls.get(xid);
    }

    /** The call that waits for an answer under this XID; {@code null} when there is none. */
    OutboundCall unanswered(int xid) {
        OutboundCall call = calls.get(xid);
        return call == null || !call.isUnanswered() ? null : call;
    }

    /**
     * Whether the connection's memory has room for what a call offers for its reply. One call may always offer: nothing
     * would make room for it.
     */
    boolean hasRoom(OutboundCall call) {
        return offeredBytes == 0 || offeredBytes + call.chunks.ownBytes() <= mostOfferedBytes;
    }

    /** Takes a credit, and counts the memory of ours that the call is about to offer. */
    void admit(OutboundCall call) {
        call.admit(credits.sent());
        offeredBytes += call.chunks.count();
        metrics.set(RpcRdmaGauge.CALLS_IN_FLIGHT, credits.inFlight());
    }

    /** The call has its credit, and did not leave: it fails. */
    void notSent(OutboundCall call, ChannelPromise promise, Throwable cause) {
        credits.notSent();
        metrics.set(RpcRdmaGauge.CALLS_IN_FLIGHT, credits.inFlight());
        fail(call, promise, cause);
    }

    /** Takes the grant of an answer; what the call has offered is its reply's now, or nobody's. */
    void takeGrant(OutboundCall call) {
        InboundReply reply = call.reply;
        offeredBytes -= call.chunks.uncount();
        credits.answered(call.completionsBefore());
        if (reply.isRefused()) {
            credits.failed(reply.credit());
        } else if (reply.isCreditOld()) {
            credits.repliedUndetermined();
        } else if (!credits.replied(reply.credit())) {
            metrics.increment(RpcRdmaCounter.ZERO_GRANTS);
        }
        if (reply.pull() != null) {
            credits.completionDue();
        }
        publishCredits();
    }

    /** Forgets a call; its memory is invalidated, or it was never sent. */
    void finish(OutboundCall call) {
        offeredBytes -= call.chunks.uncount();
        calls.remove(call.xid(), call);
        call.clear();
        spares.give(call);
    }

    /**
     * Ends a call that was not sent, wherever that was found out.
     *
     * @param promise of its write; the one that the call keeps is allowed
     */
    void fail(OutboundCall call, ChannelPromise promise, Throwable cause) {
        call.invalidate();
        finish(call);
        promise.tryFailure(cause);
    }

    /** The responder, or what was pulled from it, is to blame: the user gets this in the place of the reply. */
    void spoil(OutboundCall call, RpcRdmaException problem) {
        call.reply.fail(problem);
        link.report(call.xid(), Refusal.badReply(problem));
    }

    /** Ends all calls: nobody reaches their memory any more, because the channel is closed. */
    void close() {
        for (OutboundCall call : calls.values()) {
            if (call.isUnanswered()) {
                metrics.increment(RpcRdmaCounter.CALLS_LOST);
            }
            call.invalidate();
            call.clear();
        }
        calls.clear();
        metrics.set(RpcRdmaGauge.CALLS_IN_FLIGHT, 0);
    }
}
