// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.wire;

import io.netty.buffer.ByteBuf;

/**
 * Type of an inbound message, call or reply (RFC 5531, 9), which tells the transaction that it belongs to: an XID may
 * be in use in both directions (RFC 8167, 2.4 and 4.1).
 */
public enum InboundRpcMessageType {
    CALL,
    REPLY,
    /** Undetermined by the header. */
    UNKNOWN;

    /** By the header alone: version 2 has a direction word (draft, 4.2.2), version 1 has none. */
    public static InboundRpcMessageType fromHeader(TransportHeader header, ByteBuf message) {
        boolean hasWord =
                header.version() == TransportHeader.VERSION_TWO
                        && (header.proc() == TransportHeader.RDMA_MSG
                                || header.proc() == TransportHeader.RDMA_NOMSG
                                || header.proc() == TransportHeader.RDMA2_OPTIONAL);
        if (!hasWord) {
            return UNKNOWN;
        }
        header.decodeDirection(message, message.readerIndex() + TransportHeader.FIXED_BYTES);
        return ofWord(header.direction());
    }

    /**
     * Version 2: the direction word, which the payload has to confirm. Version 1: the message type of the payload, or
     * the list that holds a long message.
     *
     * @param payload where it begins
     */
    public static InboundRpcMessageType of(TransportHeader header, ByteBuf message, int payload) {
        boolean hasPayload =
                header.proc() == TransportHeader.RDMA_MSG
                        && message.writerIndex() - payload >= OncRpcHeaderDecoder.DIRECTION_BYTES;
        InboundRpcMessageType inline = hasPayload ? ofWord(message.getInt(payload + 4)) : UNKNOWN;
        if (header.proc() == TransportHeader.RDMA_MSG
                && header.version() == TransportHeader.VERSION_TWO) {
            return inline == ofWord(header.direction()) ? inline : UNKNOWN;
        }
        if (header.proc() == TransportHeader.RDMA_MSG) {
            return inline;
        }
        if (header.version() == TransportHeader.VERSION_TWO) {
            return ofWord(header.direction());
        }
        if (header.reads().hasChunkAt(0)) {
            return CALL;
        }
        return header.reads().segments() == 0 && header.reply().isPresent() ? REPLY : UNKNOWN;
    }

    static InboundRpcMessageType ofWord(int word) {
        return switch (word) {
            case OncRpcHeaderDecoder.CALL -> CALL;
            case OncRpcHeaderDecoder.REPLY -> REPLY;
            default -> UNKNOWN;
        };
    }
}
