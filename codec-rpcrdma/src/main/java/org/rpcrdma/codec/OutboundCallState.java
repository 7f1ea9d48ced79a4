// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelPromise;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * A call of this side, from its write until its reply is read. The stages pass it to each other in the place of the
 * message. Its parts belong to phases: {@link #request} holds the request, {@link #chunks} the memory exposed to the
 * responder, {@link #reply} the answer. Belongs to one {@link RequesterState} and its event loop, and is reused for
 * later calls.
 */
final class OutboundCallState extends CallListedByAge {

    private enum State {
        /** Being planned, or waiting for a credit. */
        QUEUED,
        /** In flight. */
        SENT,
        /** Answered; Read chunks of the reply may still be pulled. */
        ANSWERED
    }

    /** Bytes assumed for a reply without its results if no binding gives a bound. */
    private static final int LEAST_ROOM = 1024;

    final OutboundCallRequest request = new OutboundCallRequest();
    final OutboundCallChunks chunks = new OutboundCallChunks();
    final InboundReplyState reply = new InboundReplyState();

    /** First the lists of the call, then those of the reply. */
    final TransportHeader header = new TransportHeader();

    private final ConnectionSharedState link;

    private State state = State.QUEUED;
    int xid;

    /** Version of the call and its reply. */
    VersionInlineThresholds protocol;

    /** Promise of the write while the call waits for a credit. */
    private ChannelPromise promise;

    /** Start of the wait for a credit; 0 for no wait, or without listeners. */
    private long queuedNanos;

    /**
     * The user has cancelled the call. It keeps its credit and XID until it is answered (RFC 8166, 4.4.1).
     */
    boolean isCancelled;

    /** The credit word of the answer, unsigned. */
    int credit;

    /** Number of pull completions sent before the call. */
    long completionsBefore;

    OutboundCallState(ConnectionSharedState link) {
        this.link = link;
    }

    /**
     * Begins another call.
     *
     * @param version of the call and its reply
     */
    OutboundCallState begin(int id, VersionInlineThresholds version) {
        xid = id;
        protocol = version;
        return this;
    }

    // ------------------------------------------------------------------ phases

    /**
     * Queues the call until there is a credit.
     *
     * @param written promise of the write
     * @param nanos time of the write; 0 without listeners
     */
    void queue(ChannelPromise written, long nanos) {
        promise = written;
        queuedNanos = nanos;
    }

    /** Ends the wait for a credit; returns the promise of the write. */
    ChannelPromise dequeue() {
        ChannelPromise written = promise;
        promise = null;
        return written;
    }

    /** Start of the wait for a credit; 0 for no wait, or without listeners. */
    long queuedNanos() {
        return queuedNanos;
    }

    /**
     * Gives the call a credit.
     *
     * @param completionsSent the pull completions that were sent before it
     */
    void admit(long completionsSent) {
        completionsBefore = completionsSent;
    }

    /** Is in flight from now on. */
    void sent() {
        state = State.SENT;
    }

    /** An answer of any kind has arrived. The memory of the call is invalidated before this. */
    void answered(int granted) {
        invalidate();
        state = State.ANSWERED;
        credit = granted;
    }

    /** Whether it was not sent yet. */
    boolean isQueued() {
        return state == State.QUEUED;
    }

    /** Whether it was sent, and the answer has not come yet. */
    boolean isUnanswered() {
        return state == State.SENT;
    }

    /**
     * Cancels the call. A call that was sent keeps its credit and XID until it is answered.
     *
     * @param invalidates whether the memory is invalidated at once
     */
    void cancel(boolean invalidates) {
        isCancelled = true;
        if (invalidates) {
            invalidate();
            request.payload.releaseParts();
        }
    }

    /** Invalidates the memory of the call, then releases the arguments (RFC 8166, 4.4.1). */
    void invalidate() {
        chunks.invalidate(link);
        request.payload.releaseStream();
    }

    // ------------------------------------------------------------------ reply

    /** Bytes reserved before and after the data in a sink of the library: short inline parts are copied there. */
    int roomAroundSink() {
        long inline = Math.max(LEAST_ROOM, request.replyMaximum());
        return (int) Math.min(inline, protocol.receiveThreshold);
    }

    /** Takes the payload stream of the reply from the Reply chunk. */
    void takeReplyChunk() {
        ByteBuf written = chunks.takeReplyChunk((int) header.reply().chunkLength());
        reply.stream(written);
    }

    /** Outcome of an answered call. */
    RpcRdmaCallOutcome outcome() {
        if (reply.isRefused) {
            return RpcRdmaCallOutcome.REFUSED;
        }
        return reply.failure == null ? RpcRdmaCallOutcome.REPLIED : RpcRdmaCallOutcome.BAD_REPLY;
    }

    /** The pull completion of a reply in Read chunks, to be sent when its Reads have ended. */
    RdmaDoneMessage completion() {
        return reply.failure == null && reply.pull.isWhole()
                ? RdmaDoneMessage.of(xid, protocol.number, header.reads(), link)
                : RdmaDoneMessage.plain(xid, protocol.number);
    }

    /** Releases everything. The memory must be {@linkplain #invalidate invalidated}, or the connection closed. */
    void clear() {
        request.clear();
        chunks.clear();
        reply.clear();
        header.clear();
        state = State.QUEUED;
        xid = 0;
        protocol = null;
        promise = null;
        queuedNanos = 0;
        isCancelled = false;
        completionsBefore = 0;
        credit = 0;
    }
}
