// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelFutureListener;

/** The side of a connection that answers: the calls that are served, and what was granted. Event loop only. */
final class Responder {

    private final Link link;
    private final Pulls pulls;
    private final XidMap<ServedCall> calls = new XidMap<>();
    private final Spares<ServedCall> spares = new Spares<>(ServedCall::new);
    private final Spares<ReplyWork> spareWork;

    /** {@code null} at a side that sends no replies in Read chunks. */
    private WaitingReplies waiting;

    /** {@code null} until calls are answered here. */
    private ResponderCredits credits;

    /** {@code null} until calls are answered here. */
    private GrantControl grants;

    private long chunkErrorsInRow;

    Responder(Link link, Pulls pulls) {
        this.link = link;
        this.pulls = pulls;
        spareWork = new Spares<>(() -> new ReplyWork(link, this::recycle));
    }

    // ------------------------------------------------------------------ credits

    /**
     * Calls are answered from now on.
     *
     * @param grant the highest that is wanted
     * @param receives posted at any time for calls
     */
    void open(int grant, int receives) {
        ReadChunkReplies settings = link.readChunkReplies();
        waiting = link.isServer() && settings != null ? new WaitingReplies(link, settings) : null;
        credits = new ResponderCredits(grant, receives);
        // A requester that has announced to know them keeps its pull completions within the grant.
        boolean isOutside = waiting != null && !settings.areAnnounced();
        grants = new GrantControl(link, credits, isOutside ? waiting : null, pulls::bytes);
        publishCredits();
    }

    /** Whether calls are answered here. */
    boolean isOpen() {
        return credits != null;
    }

    ResponderCredits credits() {
        return credits;
    }

    /** What decides the grants. */
    GrantControl grants() {
        return grants;
    }

    /** The grant for the message that is built now: never 0, also where no calls are answered (RFC 8166, 3.3.1). */
    int nextGrant() {
        if (!isOpen()) {
            return 1;
        }
        int granted = grants.next();
        publishCredits();
        return granted;
    }

    /** What was granted, and what of it is used, for those who watch from outside. */
    void publishCredits() {
        link.metrics().set(RpcRdmaGauge.CREDITS_OFFERED, credits.granted());
        link.metrics().set(RpcRdmaGauge.CALLS_IN_PROGRESS, credits.unanswered());
    }

    /** A message was answered with an error before it was counted. */
    void refused() {
        if (isOpen()) {
            credits.refused();
        }
    }

    // ------------------------------------------------------------------ calls

    /** A call that is not in progress already; {@link #finish} ends it. */
    ServedCall newCall(int xid, int version) {
        ServedCall call = spares.take();
        call.xid = xid;
        call.protocol = link.versions().ofReply(version);
        calls.put(xid, call);
        return call;
    }

    /** The call with this XID; {@code null} when there is none. */
    ServedCall call(int xid) {
        return calls.get(xid);
    }

    /** Forgets a call. */
    void finish(ServedCall call) {
        calls.remove(call.xid, call);
        call.clear();
        spares.give(call);
    }

    /** Has a call answered with ERR_CHUNK when it is written (RFC 8166, 4.5.2 and 4.5.3); it is given back. */
    ServedCall reject(ServedCall call, String what) {
        link.problem(call.xid, what, "answered with ERR_CHUNK");
        call.isRejected = true;
        call.isDelivered = false;
        link.flushLater();
        return call;
    }

    // ------------------------------------------------------------------ replies

    /** The replies that wait for their pull completion; {@code null} at a side that sends none in Read chunks. */
    WaitingReplies waiting() {
        return waiting;
    }

    /** A promise for a work request of a reply. */
    ReplyWork work(int xid) {
        return spareWork.take().of(xid);
    }

    private void recycle(ReplyWork work) {
        spareWork.give(work);
    }

    void replySent(ProtocolVersion version) {
        chunkErrorsInRow = 0;
        link.versions().replied(version.number());
        Runnable action = link.isServer() ? link.versions().follow(version.number()) : null;
        if (action != null) {
            link.channel().eventLoop().execute(action);
        }
    }

    /** An ERR_CHUNK is written; gives back what follows it. */
    ChannelFutureListener chunkErrorSent() {
        int most = link.config().maxChunkErrors();
        link.metrics().increment(RpcRdmaCounter.CHUNK_ERRORS_SENT);
        if (++chunkErrorsInRow != most) {
            return ChannelFutureListener.CLOSE_ON_FAILURE;
        }
        link.metrics().increment(RpcRdmaCounter.CHUNK_ERROR_DISCONNECTS);
        return sent ->
                link.closeNow(
                        "the last " + most + " calls of the peer were answered with ERR_CHUNK",
                        null);
    }

    /** The connection is lost. */
    void close() {
        calls.values().forEach(ServedCall::clear);
        calls.clear();
        if (waiting != null) {
            waiting.close();
        }
    }
}
