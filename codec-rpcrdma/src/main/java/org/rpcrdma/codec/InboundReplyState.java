// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.util.ReferenceCountUtil;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Answer to an {@link OutboundCallState}, from its header until its delivery to the upper layer: the reply, or the
 * failure. Reused for later calls.
 */
final class InboundReplyState {

    /** The payload stream. Owned. */
    private ByteBuf stream;

    /** Pull of a reply in Read chunks. Owned. */
    CallOrReplyReadListPull pull;

    /** The answer to an optional operation. Owned. */
    private OptionalOperationMessage option;

    /** Whether the reply came in the Reply chunk or in a Position Zero Read chunk. */
    boolean isLong;

    /** Whether the credit word is outdated: only the end of a pull has shown that the message is a reply. */
    boolean isCreditOld;

    /** The answer was RDMA_ERROR. */
    boolean isRefused;

    /** Exception for the user in the place of a reply. */
    RpcRdmaException failure;

    /** Begins a reply with a validated header. */
    void begin(TransportHeader header, CallOrReplyReadListPull chunks) {
        isLong = header.proc() == TransportHeader.RDMA_NOMSG;
        pull = chunks;
    }

    /** RDMA_ERROR. */
    void refused(RpcRdmaException why) {
        isRefused = true;
        failure = why;
    }

    /** Fails the call: the user receives the exception in the place of the reply. */
    void fail(RpcRdmaException why) {
        failure = why;
    }

    /** Marks the credit word as outdated: the message was not known to be a reply on its arrival. */
    void creditIsOld() {
        isCreditOld = true;
    }

    /** Takes over the payload stream. */
    void stream(ByteBuf payload) {
        stream = payload;
    }

    /** Takes over the answer to an optional operation. */
    void option(OptionalOperationMessage answer) {
        option = answer;
    }

    /** Takes over the pulled reply, which is contiguous. */
    void takePulled() {
        ReferenceCountUtil.release(takeStream());
        stream = pull.take();
    }

    /** The payload stream, borrowed. */
    ByteBuf stream() {
        return stream;
    }

    /** Transfers the payload stream to the caller. */
    ByteBuf takeStream() {
        ByteBuf taken = stream;
        stream = null;
        return taken;
    }

    /** Transfers the answer to an optional operation to the caller. */
    OptionalOperationMessage takeOption() {
        OptionalOperationMessage taken = option;
        option = null;
        return taken;
    }

    /** Releases everything. */
    void clear() {
        if (stream != null) {
            ReferenceCountUtil.release(takeStream());
        }
        if (option != null) {
            ReferenceCountUtil.release(takeOption());
        }
        if (pull != null) {
            pull.free();
            pull = null;
        }
        isLong = false;
        isCreditOld = false;
        isRefused = false;
        failure = null;
    }
}
