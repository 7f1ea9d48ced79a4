// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.util.ReferenceCountUtil;

/**
 * A message on its way out: its payload stream, and the items that leave it (RFC 8166, 3.4). A plain message is one
 * whose user has taken nothing apart. Used again for later messages.
 */
final class OutboundPayload {

    private ByteBuf stream;

    /** What the user wrote in the place of a plain message, with the memory that belongs to it. Owned unless plain. */
    private RpcMessage parts = RpcMessage.PLAIN;

    private final OutboundReducedItems items = new OutboundReducedItems();

    /** The items of the user go with the payload stream. */
    private boolean isWhole;

    /**
     * Takes over what a user has written.
     *
     * @param written a {@link ByteBuf} or a {@link RpcMessage}
     */
    void take(Object written) {
        stream = RpcMessage.payloadOf(written);
        parts = RpcMessage.partsOf(written);
        if (isInParts()) {
            stream.retain(); // besides the reference of the message itself
        }
    }

    /** The items of the user are in this message again, which is taken over. */
    void merge(ByteBuf whole) {
        releaseStream();
        stream = whole;
    }

    /** The items of the user are sent in their places, in one Send with the rest. */
    void sendWhole() {
        isWhole = true;
    }

    /** The message without what the user has taken out of it; {@code null} when there is none, or it was released. */
    ByteBuf stream() {
        return stream;
    }

    /** What the user has taken out of the message, and the sinks; nothing for a plain message. */
    RpcMessage parts() {
        return parts;
    }

    /** Whether the user has written a message in parts, and reads his reply in the same way. */
    boolean isInParts() {
        return parts != RpcMessage.PLAIN;
    }

    /** Arguments or results that go into chunks. */
    OutboundReducedItems items() {
        return items;
    }

    /** The bytes of the payload stream when the items have left it. */
    int reducedBytes() {
        if (isWhole) {
            return Math.toIntExact(parts.wholeLength());
        }
        return stream.readableBytes() - items.removedBytes();
    }

    /** Appends the payload stream without the items and their round-up. */
    void writeReduced(ByteBuf out) {
        if (isWhole) {
            parts.writeWhole(out);
            return;
        }
        int index = stream.readerIndex();
        for (int i = 0; i < items.count(); i++) {
            out.writeBytes(stream, index, items.index(i) - index);
            index = items.index(i) + items.bytesInMessage(i);
        }
        out.writeBytes(stream, index, stream.writerIndex() - index);
    }

    /** Releases it; that its user has released it already is his mistake, and ends nothing else. */
    void releaseStream() {
        if (stream != null) {
            ByteBuf done = stream;
            stream = null;
            ReferenceCountUtil.safeRelease(done);
        }
    }

    /** As {@link #releaseStream}. */
    void releaseParts() {
        if (isInParts()) {
            RpcMessage done = parts;
            parts = RpcMessage.PLAIN;
            items.clear();
            isWhole = false;
            ReferenceCountUtil.safeRelease(done);
        }
    }

    void clear() {
        if (stream != null) {
            releaseStream();
        }
        if (parts != RpcMessage.PLAIN) {
            releaseParts();
        }
        items.clear();
        isWhole = false;
    }
}
