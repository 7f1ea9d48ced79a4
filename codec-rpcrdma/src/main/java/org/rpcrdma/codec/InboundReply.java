// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.util.ReferenceCountUtil;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Answer to an {@link OutboundCall}, from its header until the upper layer gets it: the reply, or why there is none.
 * Used again for later calls.
 */
final class InboundReply {

    /** The payload stream. Owned. */
    private ByteBuf stream;

    /** Of a reply in Read chunks. Owned. */
    private InboundReadListPull pull;

    /** The answer to an optional operation. Owned. */
    private RpcRdmaOption option;

    /** It came in the Reply chunk or in a Position Zero Read chunk. */
    private boolean isLong;

    /** The credit word of the answer, unsigned. */
    private int credit;

    /** The credit word is an old one: only after a pull was it known that this is a reply. */
    private boolean isCreditOld;

    /** The answer was RDMA_ERROR. */
    private boolean isRefused;

    /** Why the user gets no reply. */
    private RpcRdmaException failure;

    /** Any answer. */
    void begin(int granted) {
        credit = granted;
    }

    /** A reply, whose header was validated. */
    void begin(TransportHeader header, InboundReadListPull chunks) {
        isLong = header.proc() == TransportHeader.RDMA_NOMSG;
        pull = chunks;
    }

    /** RDMA_ERROR. */
    void refused(RpcRdmaException why) {
        isRefused = true;
        failure = why;
    }

    /** The user gets this in the place of the reply. */
    void fail(RpcRdmaException why) {
        failure = why;
    }

    /** The grant is not as new as its arrival: the message was not known for a reply. */
    void creditIsOld() {
        isCreditOld = true;
    }

    /** Takes over the payload stream. */
    void stream(ByteBuf payload) {
        stream = payload;
    }

    /** Takes over the answer to an optional operation. */
    void option(RpcRdmaOption answer) {
        option = answer;
    }

    /** The reply was pulled: it is in one piece now. */
    void takePulled() {
        ReferenceCountUtil.release(takeStream());
        stream = pull.take();
    }

    /** The payload stream, borrowed. */
    ByteBuf stream() {
        return stream;
    }

    /** Gives the payload stream away. */
    ByteBuf takeStream() {
        ByteBuf taken = stream;
        stream = null;
        return taken;
    }

    /** Gives the answer to an optional operation away. */
    RpcRdmaOption takeOption() {
        RpcRdmaOption taken = option;
        option = null;
        return taken;
    }

    /** {@code null} without Read chunks. */
    InboundReadListPull pull() {
        return pull;
    }

    boolean isLong() {
        return isLong;
    }

    int credit() {
        return credit;
    }

    boolean isCreditOld() {
        return isCreditOld;
    }

    boolean isRefused() {
        return isRefused;
    }

    /** {@code null} when there is a reply. */
    RpcRdmaException failure() {
        return failure;
    }

    /** Releases everything. */
    void clear() {
        ReferenceCountUtil.release(takeStream());
        ReferenceCountUtil.release(takeOption());
        if (pull != null) {
            pull.free();
            pull = null;
        }
        isLong = false;
        credit = 0;
        isCreditOld = false;
        isRefused = false;
        failure = null;
    }
}
