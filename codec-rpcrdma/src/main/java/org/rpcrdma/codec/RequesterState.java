// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelPromise;
import org.rpcrdma.codec.internal.ObjectPool;
import org.rpcrdma.codec.internal.XidHashMap;

/**
 * State of the requester of one connection: calls in flight, credits, and memory that is offered. Event loop only.
 */
final class RequesterState {

    private final ConnectionSharedState link;
    private final ConnectionMetrics metrics;
    private final long mostOfferedBytes;
    private final XidHashMap<OutboundCallState> calls = new XidHashMap<>();
    private final ObjectPool<OutboundCallState> spares;
    private final OldestUnansweredCallGauge ages;
    private final InboundPullMemoryBudget pulls;

    /** The library's own memory that unanswered calls offer for their replies. */
    private long offeredBytes;

    /** {@code null} until calls may be sent. */
    RequesterCredits credits;

    RequesterState(ConnectionSharedState link) {
        this.link = link;
        metrics = link.metrics;
        mostOfferedBytes = link.config().maxConnectionBytes();
        spares = new ObjectPool<>(() -> new OutboundCallState(link));
        ages = new OldestUnansweredCallGauge(metrics, RpcRdmaRole.REQUESTER);
        pulls = new InboundPullMemoryBudget(link, false);
        metrics.set(RpcRdmaGauge.CREDITS_GRANTED, 1);
    }

    // ------------------------------------------------------------------ credits

    /**
     * Permits outbound calls from now on.
     *
     * @param requested credits to request
     */
    void open(int requested) {
        credits = new RequesterCredits(requested);
        publishCredits();
    }

    /** Publishes the grant and the calls in flight to other threads. */
    void publishCredits() {
        metrics.set(RpcRdmaGauge.CREDITS_GRANTED, credits.granted);
        metrics.set(RpcRdmaGauge.CALLS_IN_FLIGHT, credits.inFlight);
    }

    // ------------------------------------------------------------------ calls

    /** Exception if no call with this XID can be sent; {@code null} if one can. */
    Exception problem(int xid) {
        if (link.internals.isOutputClosed()) {
            return new CallNotSentException();
        }
        if (credits == null) {
            return new IllegalStateException(
                    "call from the accepting side (expected: none before allowReverseCalls says"
                            + " that the peer is ready; RFC 8167, 6)");
        }
        if (link.isServer && !link.versions.isSettled()) {
            return new IllegalStateException(
                    "call before one of the peer was answered (expected: none, it has the version"
                            + " of the peer's calls)");
        }
        return calls.get(xid) != null
                ? new IllegalStateException(
                        "call with XID 0x"
                                + Integer.toHexString(xid)
                                + " (expected: one that is not in use)")
                : null;
    }

    /** Begins a call that has no {@link #problem}; {@link #finish} or {@link #fail} ends the call. */
    OutboundCallState newCall(int xid) {
        OutboundCallState call = spares.take().begin(xid, link.versions.current);
        calls.put(xid, call);
        return call;
    }

    /** The unanswered calls by age. */
    OldestUnansweredCallGauge ages() {
        return ages;
    }

    /** The pulls of replies. */
    InboundPullMemoryBudget pulls() {
        return pulls;
    }

    /** The call with this XID; {@code null} when there is none. */
    OutboundCallState call(int xid) {
        return calls.get(xid);
    }

    /** The unanswered call with this XID; {@code null} if none. */
    OutboundCallState unanswered(int xid) {
        OutboundCallState call = calls.get(xid);
        return call == null || !call.isUnanswered() ? null : call;
    }

    /**
     * Whether there is a credit for a call, and the connection's memory admits what it offers for its reply. A single
     * call is always admitted, because no other call could release memory for it.
     */
    boolean maySend(OutboundCallState call) {
        return credits.allowed() > 0
                && (offeredBytes == 0 || offeredBytes + call.chunks.ownBytes() <= mostOfferedBytes);
    }

    /** Takes a credit, and counts the library's memory that the call offers. */
    void admit(OutboundCallState call) {
        call.admit(credits.sent());
        offeredBytes += call.chunks.count();
        metrics.set(RpcRdmaGauge.CALLS_IN_FLIGHT, credits.inFlight);
    }

    /** Fails a call that has its credit but was not sent. */
    void notSent(OutboundCallState call, ChannelPromise promise, Throwable cause) {
        credits.notSent();
        metrics.set(RpcRdmaGauge.CALLS_IN_FLIGHT, credits.inFlight);
        fail(call, promise, cause);
    }

    /** Takes the grant of an answer, and stops counting the memory that the call has offered. */
    void takeGrant(OutboundCallState call) {
        InboundReplyState reply = call.reply;
        offeredBytes -= call.chunks.uncount();
        credits.answered(call.completionsBefore);
        if (reply.isRefused) {
            credits.failed(call.credit);
        } else if (reply.isCreditOld) {
            credits.repliedUndetermined();
        } else if (!credits.updateGrant(call.credit)) {
            metrics.increment(RpcRdmaCounter.ZERO_GRANTS);
        }
        if (reply.pull != null) {
            credits.completionDue();
        }
        publishCredits();
    }

    /** Ends a call, whose memory must be invalidated unless the call was never sent. */
    void finish(OutboundCallState call) {
        offeredBytes -= call.chunks.uncount();
        calls.remove(call.xid, call);
        if (call.isListed) {
            ages.remove(call);
        }
        call.clear();
        spares.give(call);
    }

    /**
     * Fails a call that was not sent, in any stage.
     *
     * @param promise of the write; may be the one that the call holds
     */
    void fail(OutboundCallState call, ChannelPromise promise, Throwable cause) {
        call.invalidate();
        finish(call);
        promise.tryFailure(cause);
    }

    /** Rejects the reply: the user receives the exception in its place. */
    void spoil(OutboundCallState call, RpcRdmaException problem) {
        call.reply.fail(problem);
        link.report(call.xid, InboundMessageRefusal.badReply(problem));
    }

    /** Ends all calls. The channel is closed, so their memory is no longer exposed. */
    void close() {
        pulls.close();
        for (OutboundCallState call : calls.values()) {
            if (call.isUnanswered()) {
                metrics.increment(RpcRdmaCounter.CALLS_LOST);
            }
            if (call.isListed) {
                ages.remove(call);
            }
            call.invalidate();
            call.clear();
        }
        calls.clear();
        metrics.set(RpcRdmaGauge.CALLS_IN_FLIGHT, 0);
    }
}
