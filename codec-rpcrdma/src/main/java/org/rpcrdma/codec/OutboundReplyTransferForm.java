// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Form in which the payload stream of a reply travels (RFC 8166, 3.5). The responder decides it once, before it writes
 * chunks or exposes memory. Results in Write chunks are no part of the payload stream, so each form may have them.
 */
enum OutboundReplyTransferForm {
    /** Short or chunked (3.5.1, 3.5.2): the payload stream is in the Send. */
    INLINE(TransportHeader.RDMA_MSG),

    /** Long (3.5.3): the responder writes the payload stream into the Reply chunk of the call. */
    REPLY_CHUNK(TransportHeader.RDMA_NOMSG),

    /** Long: the requester reads the payload stream (draft-cel-nfsv4-rpcrdma-reliable-reply-04, 4.1). */
    READ_CHUNK(TransportHeader.RDMA_NOMSG),

    /** The reply fits nowhere: the call is refused (4.5.3). */
    TOO_LONG(TransportHeader.RDMA_ERROR);

    /** The procedure of the transport header. */
    final int procedure;

    OutboundReplyTransferForm(int procedure) {
        this.procedure = procedure;
    }

    /**
     * Decides the form.
     *
     * @param payload bytes of the payload stream
     * @param room bytes of it that fit the Send
     * @param replyChunk bytes that fit the Reply chunk; 0 without one
     * @param readChunks whether the requester reads replies
     */
    static OutboundReplyTransferForm of(
            int payload, int room, long replyChunk, boolean readChunks) {
        if (payload <= room) {
            return INLINE;
        }
        if (payload <= replyChunk) {
            return REPLY_CHUNK;
        }
        return readChunks ? READ_CHUNK : TOO_LONG;
    }

    /** Whether the payload stream is outside of the Send. */
    boolean isLong() {
        return this != INLINE;
    }
}
