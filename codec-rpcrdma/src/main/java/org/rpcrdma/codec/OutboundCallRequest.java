// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.util.ReferenceCountUtil;

/**
 * The request of an {@link OutboundCallState}: the message of the upper layer, the maximum length of its reply, and the
 * form of the call. Reused for later calls.
 */
final class OutboundCallRequest {

    /** Message of the user. */
    final OutboundPayloadStreamWithItems payload = new OutboundPayloadStreamWithItems();

    final UpperLayerBindingInvoker procedure = new UpperLayerBindingInvoker();

    /** An optional operation in the place of an RPC message; {@code null} without one. Owned. */
    OptionalOperationMessage option;

    OutboundCallTransferForm form = OutboundCallTransferForm.INLINE;

    /** The longest payload stream of the reply, without the results in Write chunks. */
    private long replyMaximum;

    /** The longest whole reply by the binding; 0 if unknown. */
    private long replyLimit;

    /** Time of the write; 0 without listeners. */
    long startNanos;

    /**
     * Takes over an RPC message.
     *
     * @param written a {@link io.netty.buffer.ByteBuf} or a {@link RpcMessage}
     * @param nanos time of the write; 0 without listeners
     */
    void take(Object written, long nanos) {
        payload.take(written);
        startNanos = nanos;
    }

    /** Takes over an optional operation. */
    void take(OptionalOperationMessage operation) {
        option = operation;
    }

    /**
     * Sets the limits of the reply.
     *
     * @param maximum of its payload stream
     * @param limit of the whole reply by the binding; 0 if unknown
     */
    void limitReply(long maximum, long limit) {
        replyMaximum = maximum;
        replyLimit = limit;
    }

    long replyMaximum() {
        return replyMaximum;
    }

    long replyLimit() {
        return replyLimit;
    }

    void send(OutboundCallTransferForm decided) {
        form = decided;
    }

    void clear() {
        payload.clear();
        procedure.clear();
        ReferenceCountUtil.release(option);
        option = null;
        form = OutboundCallTransferForm.INLINE;
        replyMaximum = 0;
        replyLimit = 0;
        startNanos = 0;
    }
}
