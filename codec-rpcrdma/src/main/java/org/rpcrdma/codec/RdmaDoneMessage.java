// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.channel.RdmaSendWithInvalidate;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.ReadList;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Pull completion: tells the responder that the Read chunks of a reply are no longer used, whether reading succeeded
 * or not, so that it may release the memory (draft-cel-nfsv4-rpcrdma-reliable-reply-04, 4.1.2 and 4.1.3). Passes
 * through the stages like a call, but has no answer.
 *
 * <p>In version 1 the message is RDMA_DONE. Version 2 has no procedure for it: Read chunk replies in version 2 require
 * the same type of optional operation in the configuration of both sides.
 *
 * @param xid of the reply
 * @param version of the protocol of the reply
 * @param invalidates whether the Send invalidates {@code handle} too
 * @param handle the only handle of the reply, which the Send invalidates (draft, 4.1.4)
 */
record RdmaDoneMessage(int xid, int version, boolean invalidates, int handle) {

    /**
     * Completion without remote invalidation: nothing was read, and the responder may already have invalidated the
     * memory.
     */
    static RdmaDoneMessage plain(int xid, int version) {
        return new RdmaDoneMessage(xid, version, false, 0);
    }

    /**
     * Completion after all Reads have succeeded: invalidates the handle if it is the only one and both sides have
     * announced it.
     */
    static RdmaDoneMessage of(int xid, int version, ReadList reads, ConnectionSharedState link) {
        boolean isSingle = link.bothTakeInvalidate;
        for (int i = 1; i < reads.segments(); i++) {
            isSingle &= reads.handle(i) == reads.handle(0);
        }
        return new RdmaDoneMessage(xid, version, isSingle, reads.handle(0));
    }

    /** Whether a message, whose fixed words are decoded, is a pull completion. */
    static boolean isIn(TransportHeader header, ByteBuf message, ReadChunkReplyConfig settings) {
        if (header.version() == TransportHeader.VERSION_ONE) {
            return header.proc() == TransportHeader.RDMA_DONE;
        }
        return header.version() == TransportHeader.VERSION_TWO
                && header.proc() == TransportHeader.RDMA2_OPTIONAL
                && settings.optionType() != null
                && OptionalOperationMessage.isEmptyCall(message, settings.optionType());
    }

    /** Builds the Send. */
    Object encode(ConnectionSharedState link, int credit) {
        ByteBuf out;
        if (version == TransportHeader.VERSION_ONE) {
            out = link.buffer(TransportHeader.DONE_BYTES);
            TransportHeader.encodeDone(out, xid, credit);
        } else {
            out = link.buffer(OptionalOperationMessage.HEADER_BYTES);
            OptionalOperationMessage.encodeHeader(
                    out,
                    xid,
                    credit,
                    OncRpcHeaderDecoder.CALL,
                    link.readChunkReplies().optionType(),
                    0);
        }
        return invalidates ? new RdmaSendWithInvalidate(out, handle) : out;
    }
}
