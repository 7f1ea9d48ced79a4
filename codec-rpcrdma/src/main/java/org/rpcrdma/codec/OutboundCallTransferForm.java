// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Form in which a payload stream travels (RFC 8166, 3.5). The sender decides it once, before memory is exposed or the
 * header encoded.
 */
enum OutboundCallTransferForm {
    /** Short (3.5.1): all of the payload stream is in the Send. */
    INLINE(TransportHeader.RDMA_MSG),

    /** Chunked (3.5.2): some items are in chunks, and the rest of the payload stream is in the Send. */
    REDUCED(TransportHeader.RDMA_MSG),

    /** Long (3.5.3): the payload stream itself is in a Position Zero Read chunk or in a Reply chunk. */
    LONG(TransportHeader.RDMA_NOMSG);

    /** The procedure of the transport header. */
    final int procedure;

    OutboundCallTransferForm(int procedure) {
        this.procedure = procedure;
    }
}
