// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.channel.RdmaSendWithInvalidate;
import org.rpcrdma.codec.wire.ReadList;
import org.rpcrdma.codec.wire.RpcCallHeader;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Pull completion: tells the responder that the Read chunks of a reply are no longer used, whether reading succeeded
 * or not, so that it may release the memory (draft-cel-nfsv4-rpcrdma-reliable-reply-04, 4.1.2 and 4.1.3). It takes
 * the way of a call to the responder, but has no answer.
 *
 * <p>What it looks like is the matter of the protocol version. Version 1 has RDMA_DONE. Version 2 has no procedure
 * for it: there are Read chunk replies in version 2 only when both sides are configured with the same type of
 * optional operation.
 *
 * @param xid of the reply
 * @param version of the protocol that the reply is in
 * @param invalidates whether the Send invalidates {@code handle} too
 * @param handle the only one of the reply, which the responder takes back in this way (draft, 4.1.4)
 */
record PullCompletionMessage(int xid, int version, boolean invalidates, int handle) {

    /** Without remote invalidation: nothing was read, and the responder may have taken the memory away already. */
    static PullCompletionMessage plain(int xid, int version) {
        return new PullCompletionMessage(xid, version, false, 0);
    }

    /** After all Reads have succeeded: the handle, if there is only one, is valid, and both sides have agreed to it. */
    static PullCompletionMessage of(int xid, int version, ReadList reads, ConnectionContext link) {
        boolean isSingle = link.bothTakeInvalidate();
        for (int i = 1; i < reads.segments(); i++) {
            isSingle &= reads.handle(i) == reads.handle(0);
        }
        return new PullCompletionMessage(xid, version, isSingle, reads.handle(0));
    }

    /** Whether a message, whose fixed words are decoded, is a pull completion. */
    static boolean isIn(TransportHeader header, ByteBuf message, ReadChunkReplyConfig settings) {
        if (header.version() == TransportHeader.VERSION_ONE) {
            return header.proc() == TransportHeader.RDMA_DONE;
        }
        return header.version() == TransportHeader.VERSION_TWO
                && header.proc() == TransportHeader.RDMA2_OPTIONAL
                && settings.optionType() != null
                && RpcRdmaOption.isEmptyCall(message, settings.optionType());
    }

    /** The Send. */
    Object encode(ConnectionContext link, int credit) {
        ByteBuf out;
        if (version == TransportHeader.VERSION_ONE) {
            out = link.buffer(TransportHeader.DONE_BYTES);
            TransportHeader.encodeDone(out, xid, credit);
        } else {
            out = link.buffer(RpcRdmaOption.HEADER_BYTES);
            RpcRdmaOption.encodeHeader(
                    out, xid, credit, RpcCallHeader.CALL, link.readChunkReplies().optionType(), 0);
        }
        return invalidates ? new RdmaSendWithInvalidate(out, handle) : out;
    }
}
