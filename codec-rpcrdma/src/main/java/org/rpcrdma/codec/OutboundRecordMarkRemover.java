// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.OutboundRecordMarkDetector;

/**
 * Record marks (RFC 5531, 11) of handlers written for TCP, which RPC-over-RDMA does not use (RFC 8166, 3.2). Bytes that
 * are neither a message nor a record fail their write; if their XID is that of a call in progress, the call is answered
 * with SYSTEM_ERR, because its requester would wait for ever.
 */
final class OutboundRecordMarkRemover {

    private static final int SYSTEM_ERR = 5;

    private final RpcRdmaConnection connection;

    OutboundRecordMarkRemover(RpcRdmaConnection connection) {
        this.connection = connection;
    }

    /**
     * The answer in the place of a handler that wrote bytes which are neither a message nor a record.
     *
     * @param bytes without a mark; not consumed
     * @return {@code null} when they are a message, or answer no call in progress
     */
    ByteBuf answerTo(ByteBuf bytes, ByteBufAllocator allocator) {
        if (OncRpcHeaderDecoder.isMessage(bytes) || connection.writeProblem() != null) {
            return null;
        }
        boolean mayHaveMark = bytes.readableBytes() >= OutboundRecordMarkDetector.BYTES + 4;
        int xid =
                mayHaveMark
                        ? bytes.getInt(bytes.readerIndex() + OutboundRecordMarkDetector.BYTES)
                        : 0;
        boolean isAnswer = mayHaveMark && connection.responder().call(xid) != null;
        connection
                .link()
                .problem(
                        xid,
                        "the handlers wrote "
                                + bytes.readableBytes()
                                + " bytes that are neither an RPC message nor one record with its"
                                + " mark",
                        (isAnswer ? "the call is answered with SYSTEM_ERR; " : "not sent; ")
                                + "for bytes of a TCP stream put a RecordMarkingAdapter behind"
                                + " RpcRdmaCodec");
        if (!isAnswer) {
            return null;
        }
        ByteBuf reply = allocator.buffer(OncRpcHeaderDecoder.REPLY_HEADER_BYTES).writeInt(xid);
        reply.writeInt(OncRpcHeaderDecoder.REPLY).writeInt(0).writeLong(0).writeInt(SYSTEM_ERR);
        return reply;
    }
}
