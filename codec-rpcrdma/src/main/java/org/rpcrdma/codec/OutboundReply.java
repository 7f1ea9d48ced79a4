// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;

/**
 * Answer to an inbound call: an RPC reply, the reply to an optional operation, or a refusal. Others read the fields;
 * only this class writes them.
 */
final class OutboundReply {

    /** What the handler wrote, or an RPC error in its place. */
    final OutboundPayload payload = new OutboundPayload();

    /** Reply to an optional operation; {@code null} for an RPC message. Owned. */
    RpcRdmaOption option;

    /** The payload stream does not go inline (RDMA_NOMSG). */
    boolean isLong;

    /** Transport error in the place of a reply; {@code null} for a reply. */
    Refusal refusal;

    /** Replaces whatever was written by an RPC error. */
    void replace(ByteBuf error) {
        payload.clear();
        payload.take(error);
        isLong = false;
    }

    /** Takes over the reply to an optional operation. */
    void takeOption(RpcRdmaOption operation) {
        option = operation;
    }

    /** Decides whether the payload stream goes inline; {@code false} for inline. */
    void placeOutOfLine(boolean isOut) {
        isLong = isOut;
    }

    /** A transport error is sent instead. */
    void refuse(Refusal reason) {
        refusal = reason;
    }

    /** Releases all that was written. */
    void reset() {
        payload.clear();
        if (option != null) {
            option.release();
            option = null;
        }
        isLong = false;
        refusal = null;
    }
}
