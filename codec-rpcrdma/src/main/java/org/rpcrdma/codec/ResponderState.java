// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelPromise;
import org.rpcrdma.codec.internal.ObjectPool;
import org.rpcrdma.codec.internal.XidHashMap;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;

/**
 * State of the responder of one connection: calls in progress, granted credits, and kept replies. Event loop only.
 */
final class ResponderState {

    private final ConnectionSharedState link;
    private final ConnectionMetrics metrics;
    private final InboundPullMemoryBudget pulls;
    private final XidHashMap<InboundCallState> calls = new XidHashMap<>();
    private final ObjectPool<InboundCallState> spares = new ObjectPool<>(InboundCallState::new);
    private final ObjectPool<CloseOnFailureReplyPromise> spareWork;
    private final OldestUnansweredCallGauge ages;

    /** {@code null} if this side sends no replies in Read chunks. */
    private OutboundRepliesAwaitingPullCompletion waiting;

    /** {@code null} until calls are answered here. */
    ResponderCredits credits;

    /** {@code null} until calls are answered here. */
    private CreditGrantAndReceiveController grants;

    private long chunkErrorsInRow;

    ResponderState(ConnectionSharedState link) {
        this.link = link;
        metrics = link.metrics;
        pulls = new InboundPullMemoryBudget(link, true);
        ages = new OldestUnansweredCallGauge(metrics, RpcRdmaRole.RESPONDER);
        spareWork = new ObjectPool<>(() -> new CloseOnFailureReplyPromise(link, this::recycle));
    }

    // ------------------------------------------------------------------ credits

    /**
     * Accepts inbound calls from now on.
     *
     * @param grant the highest by configuration
     * @param receives posted at any time for calls
     */
    void open(int grant, int receives) {
        ReadChunkReplyConfig settings = link.isServer ? link.readChunkReplies() : null;
        // A requester that has announced replies in Read chunks counts its pull completions within
        // the grant. Only a reply tells it that they have arrived, so when all of its credits wait
        // for that, it sends one call more.
        boolean isInside = settings != null && settings.areAnnounced();
        int beyondGrant = isInside ? 1 : 0;
        credits = new ResponderCredits(grant, receives - beyondGrant);
        waiting =
                settings == null
                        ? null
                        : new OutboundRepliesAwaitingPullCompletion(
                                link, settings, credits.maximum);
        grants =
                new CreditGrantAndReceiveController(
                        link, credits, waiting, beyondGrant, pulls::bytes);
        publishCredits(credits.granted());
    }

    /** The controller of the grants. */
    CreditGrantAndReceiveController grants() {
        return grants;
    }

    /** The grant for the next message: never 0, even if no inbound calls are accepted (RFC 8166, 3.3.1). */
    int nextGrant() {
        if (credits == null) {
            return 1;
        }
        int granted = grants.next();
        publishCredits(granted);
        return granted;
    }

    /** Publishes the grant and the calls in progress to other threads. */
    private void publishCredits(int granted) {
        metrics.set(RpcRdmaGauge.CREDITS_OFFERED, granted);
        metrics.set(RpcRdmaGauge.CALLS_IN_PROGRESS, credits.unanswered());
    }

    /** Takes a credit for a call; {@code false} if the requester has none. */
    boolean tryAcquireCredit() {
        if (!credits.tryAcquire()) {
            return false;
        }
        metrics.set(RpcRdmaGauge.CALLS_IN_PROGRESS, credits.unanswered());
        grants.received();
        return true;
    }

    /** A message was answered with an error before it was counted. */
    void refused() {
        if (credits != null) {
            credits.refused();
        }
    }

    // ------------------------------------------------------------------ calls

    /** Begins a call whose XID is not in progress; {@link #finish} ends it. */
    InboundCallState newCall(int xid, int version) {
        InboundCallState call = spares.take().begin(xid, link.versions.ofReply(version));
        calls.put(xid, call);
        return call;
    }

    /** The calls in progress by age. */
    OldestUnansweredCallGauge ages() {
        return ages;
    }

    /** The pulls of calls. */
    InboundPullMemoryBudget pulls() {
        return pulls;
    }

    /** The call with this XID; {@code null} when there is none. */
    InboundCallState call(int xid) {
        return calls.get(xid);
    }

    /** Ends a call. */
    void finish(InboundCallState call) {
        calls.remove(call.xid, call);
        if (call.isListed) {
            ages.remove(call);
        }
        call.reset();
        spares.give(call);
    }

    /**
     * Refuses a call in progress. The caller writes the returned call towards the network, which answers it with
     * ERR_CHUNK (RFC 8166, 4.5.2 and 4.5.3) or an RPC error.
     *
     * @return the call
     */
    InboundCallState refuse(InboundCallState call, InboundMessageRefusal refusal) {
        link.report(call.xid, refusal);
        switch (refusal.answer()) {
            case GARBAGE_ARGS ->
                    call.answerInstead(error(call.xid, OncRpcHeaderDecoder.GARBAGE_ARGS));
            case SYSTEM_ERR -> call.answerInstead(error(call.xid, OncRpcHeaderDecoder.SYSTEM_ERR));
            default -> call.refuse(refusal);
        }
        link.flushes().request();
        return call;
    }

    /**
     * Builds an RPC error in unregistered memory. Without memory for its Send the connection ends (RFC 8166, 4.5.4).
     */
    private static ByteBuf error(int xid, int acceptStatus) {
        ByteBuf reply = Unpooled.buffer(OncRpcHeaderDecoder.REPLY_HEADER_BYTES);
        reply.writeInt(xid).writeInt(OncRpcHeaderDecoder.REPLY).writeInt(0).writeLong(0);
        return reply.writeInt(acceptStatus);
    }

    // ------------------------------------------------------------------ replies

    /** A reply could not be built: closes the connection, so that the requester learns of it (RFC 8166, 4.5.4). */
    void lose(InboundCallState call, ChannelPromise promise, Throwable cause) {
        finish(call);
        promise.tryFailure(MarshalException.ofReply(cause));
        link.closeNow("a reply could not be built", cause);
    }

    /** The replies that wait for their pull completion; {@code null} at a side that sends none in Read chunks. */
    OutboundRepliesAwaitingPullCompletion waiting() {
        return waiting;
    }

    /** A promise for a work request of a reply. */
    CloseOnFailureReplyPromise work(int xid) {
        return spareWork.take().of(xid);
    }

    private void recycle(CloseOnFailureReplyPromise work) {
        spareWork.give(work);
    }

    void replySent(VersionInlineThresholds version) {
        chunkErrorsInRow = 0;
        link.versions.replied(version.number);
        Runnable action = link.isServer ? link.versions.follow(version.number) : null;
        if (action != null) {
            link.channel.eventLoop().execute(action);
        }
    }

    /** Counts a written ERR_CHUNK; returns the listener that closes the connection after the last permitted one. */
    ChannelFutureListener chunkErrorSent() {
        int most = link.config().maxChunkErrors();
        if (++chunkErrorsInRow != most) {
            return ChannelFutureListener.CLOSE_ON_FAILURE;
        }
        link.metrics.increment(RpcRdmaCounter.CHUNK_ERROR_DISCONNECTS);
        return sent ->
                link.closeNow(
                        "the last " + most + " calls of the peer were answered with ERR_CHUNK",
                        null);
    }

    /** The connection is lost. */
    void close() {
        pulls.close();
        for (InboundCallState call : calls.values()) {
            if (call.isListed) {
                ages.remove(call);
            }
            call.reset();
        }
        calls.clear();
        if (waiting != null) {
            waiting.close();
        }
    }
}
