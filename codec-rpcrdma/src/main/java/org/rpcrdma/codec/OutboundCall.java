// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * A call that was made here, from its write until its reply is read. It travels between the stages in the place of the
 * message. Belongs to one {@link Requester}, lives on its event loop and is used again for later calls.
 */
final class OutboundCall {

    enum State {
        /** It is planned, or waits for a credit. */
        QUEUED,
        /** It is out. */
        SENT,
        /** The answer has come; its Read chunks may still be pulled. */
        ANSWERED
    }

    /** Where nobody knows better how long a reply is beside its results. */
    private static final int LEAST_ROOM = 1024;

    private final ConnectionContext link;

    State state = State.QUEUED;
    int xid;

    /** What call and reply are sent in. */
    ProtocolVersion protocol;

    /** First the lists that are offered, then those of the reply. */
    final TransportHeader header = new TransportHeader();

    final Procedure procedure = new Procedure();

    /** What the user wrote. */
    final OutboundPayload payload = new OutboundPayload();

    /** An optional operation in the place of an RPC message: first the call, then its reply. Owned. */
    RpcRdmaOption option;

    /** The payload stream goes in a Position Zero Read chunk; later: it came in a Reply chunk or in a Read chunk. */
    boolean isLong;

    /** While the call waits for a credit. */
    ChannelPromise promise;

    /** When it was written; 0 when nobody wants to know. */
    long startNanos;

    /** When it began to wait for a credit; 0 when it did not, or nobody wants to know. */
    long queuedNanos;

    /** Cancelled: the memory is fenced, credit and XID are still taken (RFC 8166, 4.4.1). */
    boolean isGivenUp;

    /** The pull completions that were sent before the call. */
    long completionsBefore;

    // ---- room for the reply

    final WriteChunkSinks sinks = new WriteChunkSinks();

    /** The longest payload stream of the reply, what goes to Write chunks not counted. */
    long replyMaximum;

    /** The longest whole reply that the binding knows; 0 when it does not. */
    long replyLimit;

    /** Whether the binding or the call says how long the reply can be. */
    boolean isReplyBounded;

    /** Bytes of the Reply chunk; 0 for none. */
    int replyChunkBytes;

    /** What it counts for in {@link Requester#hasRoom}. */
    long offeredBytes;

    /** The memory behind the Reply chunk. Owned. */
    ByteBuf replySink;

    /** What the responder can reach. */
    final ExposedMemory exposed = new ExposedMemory();

    // ---- the reply

    /** Its payload stream. Owned. */
    ByteBuf reply;

    /** Of a reply in Read chunks, from when its header is taken. Owned. */
    ReadChunkPull pull;

    /** The credit word of the answer, unsigned. */
    int credit;

    /** Whether the credit word is that of a reply; it is an old one when this was found out by a pull. */
    boolean isCreditNew;

    /** The answer was RDMA_ERROR. */
    boolean isRefused;

    /** Why the user gets no reply. */
    RpcRdmaException failure;

    OutboundCall(ConnectionContext link) {
        this.link = link;
    }

    ConnectionContext link() {
        return link;
    }

    /** The bytes before and after the data in a sink of ours: what comes inline is put there if it is short enough. */
    int roomAroundSink() {
        long inline = Math.max(LEAST_ROOM, replyMaximum);
        return (int) Math.min(inline, protocol.receiveThreshold());
    }

    /** Whether the answer has not come yet. */
    boolean isUnanswered() {
        return state == State.SENT;
    }

    /** An answer has come: whatever it is, nobody reaches the memory of the call from now on. */
    void answered(int granted) {
        fence();
        state = State.ANSWERED;
        credit = granted;
        isCreditNew = true;
    }

    /** Takes the memory of the call out of the responder's reach, then lets go of the arguments (RFC 8166, 4.4.1). */
    void fence() {
        exposed.fence(link);
        payload.releaseStream();
    }

    /** How it has ended, once it is answered. */
    CallOutcome outcome() {
        if (isRefused) {
            return CallOutcome.REFUSED;
        }
        return failure == null ? CallOutcome.REPLIED : CallOutcome.BAD_REPLY;
    }

    /**
     * The user does not want the reply any more. What was sent stays taken until it comes.
     *
     * @param fences whether the memory is taken away from the responder at once
     */
    void giveUp(boolean fences) {
        isGivenUp = true;
        if (fences) {
            fence();
            payload.releaseParts();
        }
    }

    /** What the responder is told when nothing more is read of a reply in Read chunks. */
    OutboundPullCompletion completion() {
        return failure == null && pull.isWhole()
                ? OutboundPullCompletion.of(xid, protocol.number(), header.reads(), link)
                : OutboundPullCompletion.plain(xid, protocol.number());
    }

    /** The reply was pulled: it is in one piece now. */
    void takeWhole() {
        ReferenceCountUtil.release(takeReply());
        reply = pull.take();
    }

    RpcRdmaOption takeOption() {
        RpcRdmaOption taken = option;
        option = null;
        return taken;
    }

    /** Gives the reply away. */
    ByteBuf takeReply() {
        ByteBuf taken = reply;
        reply = null;
        return taken;
    }

    /** Lets go of everything; the memory has to be fenced, or the connection closed. */
    void clear() {
        state = State.QUEUED;
        header.clear();
        procedure.clear();
        payload.clear();
        ReferenceCountUtil.release(takeOption());
        isLong = false;
        promise = null;
        startNanos = 0;
        queuedNanos = 0;
        isGivenUp = false;
        completionsBefore = 0;
        sinks.clear();
        replyMaximum = 0;
        replyLimit = 0;
        isReplyBounded = false;
        replyChunkBytes = 0;
        offeredBytes = 0;
        ReferenceCountUtil.release(replySink);
        replySink = null;
        exposed.clear();
        ReferenceCountUtil.release(takeReply());
        if (pull != null) {
            pull.free();
            pull = null;
        }
        isRefused = false;
        failure = null;
    }
}
