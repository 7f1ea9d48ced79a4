// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelPromise;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * A call that was made here, from its write until its reply is read. It travels between the stages in the place of the
 * message. Its parts belong to phases: {@link #request} what was requested, {@link #chunks} what the responder can
 * reach, {@link #reply} what has come back. Belongs to one {@link RequesterState}, lives on its event loop and is used
 * again for later calls.
 */
final class OutboundCall {

    private enum State {
        /** It is planned, or waits for a credit. */
        QUEUED,
        /** It is in flight. */
        SENT,
        /** The answer has come; its Read chunks may still be pulled. */
        ANSWERED
    }

    /** Where nobody knows better how long a reply is beside its results. */
    private static final int LEAST_ROOM = 1024;

    final OutboundCallRequest request = new OutboundCallRequest();
    final AdvertisedChunks chunks = new AdvertisedChunks();
    final InboundReply reply = new InboundReply();

    /** First the lists that are offered, then those of the reply. */
    final TransportHeader header = new TransportHeader();

    private final ConnectionContext link;

    private State state = State.QUEUED;
    private int xid;
    private ProtocolVersion protocol;

    /** While the call waits for a credit. */
    private ChannelPromise promise;

    /** When it began to wait for a credit; 0 when it did not, or nobody wants to know. */
    private long queuedNanos;

    /**
     * Its user does not want the reply: the memory is invalidated, credit and XID are still taken (RFC 8166, 4.4.1).
     */
    private boolean isCancelled;

    /** The pull completions that were sent before the call. */
    private long completionsBefore;

    OutboundCall(ConnectionContext link) {
        this.link = link;
    }

    /**
     * Begins with another call.
     *
     * @param version what call and reply are sent in
     */
    OutboundCall begin(int id, ProtocolVersion version) {
        xid = id;
        protocol = version;
        return this;
    }

    int xid() {
        return xid;
    }

    /** What call and reply are sent in. */
    ProtocolVersion protocol() {
        return protocol;
    }

    // ------------------------------------------------------------------ phases

    /**
     * Waits for a credit.
     *
     * @param written of its write
     * @param nanos when; 0 when nobody wants to know
     */
    void queue(ChannelPromise written, long nanos) {
        promise = written;
        queuedNanos = nanos;
    }

    /** Waits no longer; returns the promise of its write. */
    ChannelPromise dequeue() {
        ChannelPromise written = promise;
        promise = null;
        return written;
    }

    /** When it began to wait for a credit; 0 when it did not, or nobody wants to know. */
    long queuedNanos() {
        return queuedNanos;
    }

    /**
     * Has a credit now.
     *
     * @param completionsSent the pull completions that were sent before it
     */
    void admit(long completionsSent) {
        completionsBefore = completionsSent;
    }

    /** The pull completions that were sent before it. */
    long completionsBefore() {
        return completionsBefore;
    }

    /** Is in flight from now on. */
    void sent() {
        state = State.SENT;
    }

    /** An answer has come: whatever it is, nobody reaches the memory of the call from now on. */
    void answered(int granted) {
        invalidate();
        state = State.ANSWERED;
        reply.begin(granted);
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
     * The user does not want the reply any more. What was sent stays taken until it comes.
     *
     * @param invalidates whether the memory is taken away from the responder at once
     */
    void cancel(boolean invalidates) {
        isCancelled = true;
        if (invalidates) {
            invalidate();
            request.payload.releaseParts();
        }
    }

    boolean isCancelled() {
        return isCancelled;
    }

    /** Takes the memory of the call out of the responder's reach, then releases the arguments (RFC 8166, 4.4.1). */
    void invalidate() {
        chunks.invalidate(link);
        request.payload.releaseStream();
    }

    // ------------------------------------------------------------------ reply

    /** The bytes before and after the data in a sink of ours: what comes inline is put there if it is short enough. */
    int roomAroundSink() {
        long inline = Math.max(LEAST_ROOM, request.replyMaximum());
        return (int) Math.min(inline, protocol.receiveThreshold());
    }

    /** Takes the reply out of the Reply chunk. */
    void takeReplyChunk() {
        ByteBuf written = chunks.takeReplyChunk((int) header.reply().chunkLength());
        reply.stream(written);
    }

    /** How it has ended, once it is answered. */
    CallOutcome outcome() {
        if (reply.isRefused()) {
            return CallOutcome.REFUSED;
        }
        return reply.failure() == null ? CallOutcome.REPLIED : CallOutcome.BAD_REPLY;
    }

    /** What the responder is told when nothing more is read of a reply in Read chunks. */
    PullCompletionMessage completion() {
        return reply.failure() == null && reply.pull().isWhole()
                ? PullCompletionMessage.of(xid, protocol.number(), header.reads(), link)
                : PullCompletionMessage.plain(xid, protocol.number());
    }

    /** Releases everything; the memory was {@linkplain #invalidate invalidated}, or went with the connection. */
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
    }
}
