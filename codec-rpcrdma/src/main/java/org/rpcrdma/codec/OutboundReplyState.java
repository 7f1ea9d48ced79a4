// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;

/**
 * Answer to an inbound call: an RPC reply, the reply to an optional operation, or a refusal. Other classes read the
 * fields; only this class writes them.
 */
final class OutboundReplyState {

    /** Message of the handler, or an RPC error in its place. */
    final OutboundPayloadStreamWithItems payload = new OutboundPayloadStreamWithItems();

    /** Of this reply alone: while it is written into chunks, a handler may write another one. */
    final OutboundReducedStreamPieceIterator pieces = new OutboundReducedStreamPieceIterator();

    /** Reply to an optional operation; {@code null} for an RPC message. Owned. */
    OptionalOperationMessage option;

    /** Form of the payload stream. */
    OutboundReplyTransferForm form = OutboundReplyTransferForm.INLINE;

    /** Transport error in the place of a reply; {@code null} for a reply. */
    InboundMessageRefusal refusal;

    /** Replaces the reply by an RPC error. */
    void replace(ByteBuf error) {
        payload.clear();
        payload.take(error);
        form = OutboundReplyTransferForm.INLINE;
    }

    /** Takes over the reply to an optional operation. */
    void takeOption(OptionalOperationMessage operation) {
        option = operation;
    }

    /** Sets the form of the payload stream. */
    void send(OutboundReplyTransferForm decided) {
        form = decided;
    }

    /** Replaces the reply by a transport error. */
    void refuse(InboundMessageRefusal reason) {
        refusal = reason;
    }

    /** Releases the reply. */
    void reset() {
        payload.clear();
        if (option != null) {
            option.release();
            option = null;
        }
        form = OutboundReplyTransferForm.INLINE;
        refusal = null;
    }
}
