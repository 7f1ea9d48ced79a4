// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelPromise;
import org.rpcrdma.codec.internal.ObjectPool;
import org.rpcrdma.codec.internal.XidHashMap;
import org.rpcrdma.codec.wire.RpcCallHeader;

/**
 * State of the responder of one connection: calls in progress, granted credits, and kept replies. Event loop only.
 */
final class ResponderState {

    private final ConnectionContext link;
    private final ConnectionMetrics metrics;
    private final ReadChunkPulls pulls;
    private final XidHashMap<InboundCall> calls = new XidHashMap<>();
    private final ObjectPool<InboundCall> spares = new ObjectPool<>(InboundCall::new);
    private final ObjectPool<ReplyWorkRequestPromise> spareWork;

    /** {@code null} at a side that sends no replies in Read chunks. */
    private ExposedReadChunkReplies waiting;

    /** {@code null} until calls are answered here. */
    private ResponderCredits credits;

    /** {@code null} until calls are answered here. */
    private CreditGrantController grants;

    private long chunkErrorsInRow;

    ResponderState(ConnectionContext link, ReadChunkPulls pulls) {
        this.link = link;
        metrics = link.metrics();
        this.pulls = pulls;
        spareWork = new ObjectPool<>(() -> new ReplyWorkRequestPromise(link, this::recycle));
    }

    // ------------------------------------------------------------------ credits

    /**
     * Calls are answered from now on.
     *
     * @param grant the highest that is wanted
     * @param receives posted at any time for calls
     */
    void open(int grant, int receives) {
        ReadChunkReplyConfig settings = link.readChunkReplies();
        credits = new ResponderCredits(grant, receives);
        waiting =
                link.isServer() && settings != null
                        ? new ExposedReadChunkReplies(link, settings, credits.maximum())
                        : null;
        // A requester that has announced to know them keeps its pull completions within the grant.
        boolean isOutside = waiting != null && !settings.areAnnounced();
        grants = new CreditGrantController(link, credits, isOutside ? waiting : null, pulls::bytes);
        publishCredits(credits.granted());
    }

    /** Whether calls are answered here. */
    boolean isOpen() {
        return credits != null;
    }

    ResponderCredits credits() {
        return credits;
    }

    /** What decides the grants. */
    CreditGrantController grants() {
        return grants;
    }

    /** The grant for the message that is built now: never 0, also where no calls are answered (RFC 8166, 3.3.1). */
    int nextGrant() {
        if (credits == null) {
            return 1;
        }
        int granted = grants.next();
        publishCredits(granted);
        return granted;
    }

    /** What was granted, and what of it is used, for those who watch from outside. */
    private void publishCredits(int granted) {
        metrics.set(RpcRdmaGauge.CREDITS_OFFERED, granted);
        metrics.set(RpcRdmaGauge.CALLS_IN_PROGRESS, credits.unanswered());
    }

    /** Takes a credit for a call; {@code false} when the requester has none. */
    boolean admit() {
        if (!credits.countReceived()) {
            return false;
        }
        metrics.set(RpcRdmaGauge.CALLS_IN_PROGRESS, credits.unanswered());
        grants.received();
        return true;
    }

    /** A message was answered with an error before it was counted. */
    void refused() {
        if (isOpen()) {
            credits.refused();
        }
    }

    // ------------------------------------------------------------------ calls

    /** A call that is not in progress already; {@link #finish} ends it. */
    InboundCall newCall(int xid, int version) {
        InboundCall call = spares.take().begin(xid, link.versions().ofReply(version));
        calls.put(xid, call);
        return call;
    }

    /** The call with this XID; {@code null} when there is none. */
    InboundCall call(int xid) {
        return calls.get(xid);
    }

    /** Forgets a call. */
    void finish(InboundCall call) {
        calls.remove(call.xid, call);
        call.reset();
        spares.give(call);
    }

    /**
     * Refuses a call that the stages know: whoever writes it back has it answered, by ERR_CHUNK (RFC 8166, 4.5.2 and
     * 4.5.3) or by an RPC error.
     *
     * @return the call
     */
    InboundCall refuse(InboundCall call, Refusal refusal) {
        link.report(call.xid, refusal);
        switch (refusal.answer()) {
            case GARBAGE_ARGS -> call.answerInstead(error(call.xid, RpcCallHeader.GARBAGE_ARGS));
            case SYSTEM_ERR -> call.answerInstead(error(call.xid, RpcCallHeader.SYSTEM_ERR));
            default -> call.refuse(refusal);
        }
        link.flushes().request();
        return call;
    }

    /**
     * The message needs no registered memory; when there is none for its Send, the connection ends (RFC 8166, 4.5.4).
     */
    private static ByteBuf error(int xid, int acceptStatus) {
        ByteBuf reply = Unpooled.buffer(RpcCallHeader.REPLY_HEADER_BYTES);
        reply.writeInt(xid).writeInt(RpcCallHeader.REPLY).writeInt(0).writeLong(0);
        return reply.writeInt(acceptStatus);
    }

    // ------------------------------------------------------------------ replies

    /** A reply cannot be built, or not all of it: the requester has to know that none comes (RFC 8166, 4.5.4). */
    void lose(InboundCall call, ChannelPromise promise, Throwable cause) {
        finish(call);
        promise.tryFailure(MarshalException.ofReply(cause));
        link.closeNow("a reply could not be built", cause);
    }

    /** The replies that wait for their pull completion; {@code null} at a side that sends none in Read chunks. */
    ExposedReadChunkReplies waiting() {
        return waiting;
    }

    /** A promise for a work request of a reply. */
    ReplyWorkRequestPromise work(int xid) {
        return spareWork.take().of(xid);
    }

    private void recycle(ReplyWorkRequestPromise work) {
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
        calls.values().forEach(InboundCall::reset);
        calls.clear();
        if (waiting != null) {
            waiting.close();
        }
    }
}
