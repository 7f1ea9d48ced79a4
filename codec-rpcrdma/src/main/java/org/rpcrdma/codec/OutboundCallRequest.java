// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.util.ReferenceCountUtil;

/**
 * The request of an {@link OutboundCall}: what the upper layer has written, how long the reply to it can get, and the
 * form in which the call travels. Used again for later calls.
 */
final class OutboundCallRequest {

    /** What the user wrote. */
    final OutboundPayload payload = new OutboundPayload();

    final Procedure procedure = new Procedure();

    /** An optional operation in the place of an RPC message. Owned. */
    private RpcRdmaOption option;

    private OutboundCallForm form = OutboundCallForm.INLINE;

    /** The longest payload stream of the reply, what goes to Write chunks not counted. */
    private long replyMaximum;

    /** The longest whole reply that the binding knows; 0 when it does not. */
    private long replyLimit;

    /** When it was written; 0 when nobody wants to know. */
    private long startNanos;

    /**
     * Takes over an RPC message.
     *
     * @param written a {@link io.netty.buffer.ByteBuf} or a {@link RpcMessage}
     * @param nanos when; 0 when nobody wants to know
     */
    void take(Object written, long nanos) {
        payload.take(written);
        startNanos = nanos;
    }

    /** Takes over an optional operation. */
    void take(RpcRdmaOption operation) {
        option = operation;
    }

    /** Whether it is an optional operation, and no RPC message. */
    boolean isOption() {
        return option != null;
    }

    /** The optional operation, borrowed; {@code null} when it is an RPC message. */
    RpcRdmaOption option() {
        return option;
    }

    /**
     * Sets how long the reply can get.
     *
     * @param maximum of its payload stream
     * @param limit of the whole reply, as the binding has it; 0 when it does not know
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

    void send(OutboundCallForm decided) {
        form = decided;
    }

    OutboundCallForm form() {
        return form;
    }

    long startNanos() {
        return startNanos;
    }

    void clear() {
        payload.clear();
        procedure.clear();
        ReferenceCountUtil.release(option);
        option = null;
        form = OutboundCallForm.INLINE;
        replyMaximum = 0;
        replyLimit = 0;
        startNanos = 0;
    }
}
