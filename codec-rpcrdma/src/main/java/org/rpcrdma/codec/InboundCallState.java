// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;

/**
 * A call of the peer, from its header until its reply is passed to the device, in three parts: request, chunks of the
 * requester, and reply. The stages pass it to each other in the place of the message. Belongs to one {@link
 * ResponderState} and its event loop, and is reused for later calls.
 *
 * <p>Other classes read the fields; only this class writes them.
 */
final class InboundCallState extends CallListedByAge {

    /** Progress of a call. */
    enum State {
        /** Being pulled or validated, or waiting for memory or for the answer to an earlier transmission. */
        RECEIVED,
        /** Delivered to a handler, which must reply. */
        DELIVERED,
        /** The reply or refusal is on its way to the network. */
        ANSWERED
    }

    int xid;

    /** Version of the call and its reply. */
    VersionInlineThresholds protocol;

    State state = State.RECEIVED;

    final InboundCallPayload request = new InboundCallPayload();

    final InboundCallChunks chunks = new InboundCallChunks();

    final OutboundReplyState reply = new OutboundReplyState();

    /** Begins a call whose XID is not in progress. */
    InboundCallState begin(int received, VersionInlineThresholds version) {
        xid = received;
        protocol = version;
        return this;
    }

    /** Whether a handler has yet to reply. */
    boolean isUnanswered() {
        return state == State.DELIVERED;
    }

    /** A handler, or the duplicate request cache, must reply from now on. */
    void delivered() {
        state = State.DELIVERED;
    }

    /** The reply is complete; a second one is refused. */
    void answered() {
        state = State.ANSWERED;
    }

    /** Answers with a transport error. */
    void refuse(InboundMessageRefusal refusal) {
        state = State.ANSWERED;
        reply.refuse(refusal);
    }

    /** Answers with an RPC error in the place of the handler (RFC 5531, 9). */
    void answerInstead(ByteBuf error) {
        state = State.ANSWERED;
        request.release();
        reply.replace(error);
    }

    /** Releases everything. */
    void reset() {
        state = State.RECEIVED;
        request.reset();
        chunks.reset();
        reply.reset();
    }
}
