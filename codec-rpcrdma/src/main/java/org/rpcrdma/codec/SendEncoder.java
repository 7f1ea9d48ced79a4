// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Builds Sends: the header and the inline payload in one registered buffer, which is the payload's own where that has
 * room for the header.
 */
final class SendEncoder {

    private final ConnectionSharedState link;
    private final ConnectionMetrics metrics;

    SendEncoder(ConnectionSharedState link) {
        this.link = link;
        metrics = link.metrics;
    }

    /**
     * Builds the Send of an RPC message, whose header is complete.
     *
     * @param payload without its stream afterwards, if that has become the Send
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
        int headerBytes = header.encodedBytes();
        checkLength(protocol, headerBytes + inline);
        ByteBuf send;
        if (isInline && hasRoom(payload, headerBytes)) {
            send = prepend(header, headerBytes, payload.takeStream());
        } else {
            send = link.channel.sendBuffer(headerBytes + inline);
            try {
                header.encode(send);
                if (isInline) {
                    payload.writeReduced(send);
                }
            } catch (Throwable t) {
                send.release(); // the user's memory was released, for example
                throw t;
            }
        }
        if (isInline) {
            metrics.add(role, RpcRdmaCounter.INLINE_BYTES, inline);
        }
        return send;
    }

    /** Whether the payload stream is in memory where the header may be written in front of it. */
    private boolean hasRoom(OutboundPayloadStreamWithItems payload, int headerBytes) {
        ByteBuf stream = payload.stream;
        return stream.readerIndex() >= headerBytes
                && payload.isStreamAsIs()
                && link.internals.mayPrepend(stream);
    }

    private static ByteBuf prepend(TransportHeader header, int headerBytes, ByteBuf stream) {
        int start = stream.readerIndex() - headerBytes;
        int end = stream.writerIndex();
        stream.setIndex(start, start);
        header.encode(stream);
        return stream.writerIndex(end);
    }

    /** Builds the Send of an optional operation. */
    ByteBuf option(VersionInlineThresholds protocol, OptionalOperationMessage option, int credit)
            throws CallTooLongException {
        int length = option.encodedBytes();
        checkLength(protocol, length);
        ByteBuf send = link.channel.sendBuffer(length);
        try {
            option.encode(send, credit);
            return send;
        } catch (Throwable t) {
            send.release();
            throw t;
        }
    }

    private static void checkLength(VersionInlineThresholds protocol, int length)
            throws CallTooLongException {
        if (length > protocol.sendThreshold) {
            throw new CallTooLongException(
                    "message of "
                            + length
                            + " bytes (expected: at most the inline threshold of "
                            + protocol.sendThreshold
                            + ')');
        }
    }
}
