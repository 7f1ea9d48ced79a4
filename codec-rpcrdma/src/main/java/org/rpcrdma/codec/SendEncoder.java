// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.codec.wire.TransportHeader;

/** Builds Sends: the header and the inline payload in one registered buffer. */
final class SendEncoder {

    private final ConnectionContext link;
    private final ConnectionMetrics metrics;

    SendEncoder(ConnectionContext link) {
        this.link = link;
        metrics = link.metrics();
    }

    /**
     * Builds the Send of an RPC message, whose header is complete.
     *
     * @param role of this side
     * @throws CallTooLongException when a header is longer than any Send
     */
    ByteBuf message(
            RpcRdmaRole role,
            VersionInlineThresholds protocol,
            TransportHeader header,
            OutboundPayloadStreamWithItems payload)
            throws CallTooLongException {
        boolean isInline = header.proc() == TransportHeader.RDMA_MSG;
        int inline = isInline ? payload.reducedBytes() : 0;
        ByteBuf send = allocate(protocol, header.encodedBytes() + inline);
        header.encode(send);
        if (isInline) {
            payload.writeReduced(send);
            metrics.add(role, RpcRdmaCounter.INLINE_BYTES, inline);
        }
        return send;
    }

    /** Builds the Send of an optional operation. */
    ByteBuf option(VersionInlineThresholds protocol, OptionalOperationMessage option, int credit)
            throws CallTooLongException {
        ByteBuf send = allocate(protocol, option.encodedBytes());
        option.encode(send, credit);
        return send;
    }

    private ByteBuf allocate(VersionInlineThresholds protocol, int length)
            throws CallTooLongException {
        if (!protocol.fitsSend(length)) {
            throw new CallTooLongException(
                    "message of "
                            + length
                            + " bytes (expected: at most the inline threshold of "
                            + protocol.sendThreshold()
                            + ')');
        }
        return link.channel().sendBuffer(length);
    }
}
