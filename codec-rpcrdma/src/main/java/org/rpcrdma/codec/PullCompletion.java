// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.channel.RdmaSend;

/**
 * What a requester sends when it has done with the Read chunks of a reply, successfully or not, so that the responder may
 * have its memory back (draft-cel-nfsv4-rpcrdma-reliable-reply-04, 4.1.2 and 4.1.3). It takes the way of a call to the
 * responder, but has no answer.
 *
 * <p>What it looks like is the matter of the protocol version. Version 1 has RDMA_DONE. Version 2 has no procedure for it, so
 * that there are no Read chunk replies in version 2.
 *
 * @param xid of the reply
 * @param version of the protocol that the reply is in
 * @param invalidates whether the Send invalidates {@code handle} too
 * @param handle the only one of the reply, which the responder takes back in this way (draft, 4.1.4)
 */
record PullCompletion(int xid, int version, boolean invalidates, int handle) {

    /** Without remote invalidation: nothing was read, and the responder may have taken the memory away already. */
    static PullCompletion plain(int xid, int version) {
        return new PullCompletion(xid, version, false, 0);
    }

    /** After all Reads have succeeded: the handle, if there is only one, is valid, and both sides have agreed to it. */
    static PullCompletion of(RpcRdmaExchange reply) {
        ReadList reads = reply.header.reads();
        boolean isSingle = reply.connection.bothTakeInvalidate();
        for (int i = 1; i < reads.segments(); i++) {
            isSingle &= reads.handle(i) == reads.handle(0);
        }
        return new PullCompletion(reply.xid, reply.protocol.number(), isSingle, reads.handle(0));
    }

    /** Whether the version has a pull completion. Without one nobody may send a reply in Read chunks. */
    static boolean isPartOf(int version) {
        return version == TransportHeader.VERSION_ONE;
    }

    /** Whether the fixed words, which are decoded, are those of a pull completion. */
    static boolean isIn(TransportHeader header) {
        return header.version() == TransportHeader.VERSION_ONE
                && header.proc() == TransportHeader.RDMA_DONE;
    }

    /** The Send. */
    Object encode(RpcRdmaConnection connection) {
        ByteBuf out = connection.buffer(TransportHeader.DONE_BYTES);
        TransportHeader.encodeDone(out, xid, connection.requesterCredits().requested());
        return invalidates ? new RdmaSend(out, handle) : out;
    }
}
