// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;

/**
 * A call of the peer, from its header until its reply is handed to the device, in three parts: what was received, the
 * chunks that the requester provides, and the answer. It travels between the stages in the place of the message.
 * Belongs to one {@link ResponderState}, lives on its event loop and is used again for later calls: a reset is that of
 * its parts.
 *
 * <p>Others read the fields; only this class writes them.
 */
final class InboundCall {

    /** How far a call has come. */
    enum State {
        /** It is pulled, checked, or waits for memory or for the answer to an earlier one. */
        RECEIVED,
        /** A handler has it, and owes a reply. */
        DELIVERED,
        /** Its reply, or its refusal, is on the way to the network. */
        ANSWERED
    }

    int xid;

    /** What call and reply are sent in. */
    ProtocolVersion protocol;

    State state = State.RECEIVED;

    final InboundCallMessage request = new InboundCallMessage();

    final InboundChunks chunks = new InboundChunks();

    final OutboundReply reply = new OutboundReply();

    /** Begins with a call that is not in progress already. */
    InboundCall begin(int received, ProtocolVersion version) {
        xid = received;
        protocol = version;
        return this;
    }

    /** Whether a handler owes a reply. */
    boolean isUnanswered() {
        return state == State.DELIVERED;
    }

    /** A handler, or a cache in its place, owes a reply from now on. */
    void delivered() {
        state = State.DELIVERED;
    }

    /** The reply is complete, and may not be written again. */
    void answered() {
        state = State.ANSWERED;
    }

    /** Answers with a transport error. */
    void refuse(Refusal refusal) {
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
