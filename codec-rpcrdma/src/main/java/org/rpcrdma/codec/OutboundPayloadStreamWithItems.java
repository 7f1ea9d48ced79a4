// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.util.ReferenceCountUtil;

/**
 * Outbound message: payload stream and reduced items (RFC 8166, 3.4). In a plain message the user has kept no items
 * apart. Reused for later messages.
 */
final class OutboundPayloadStreamWithItems {

    /** The payload without the user's items; {@code null} if there is none, or after its release. */
    ByteBuf stream;

    /** Message in parts with the memory of its parts. Owned unless plain. */
    RpcMessage parts = RpcMessage.PLAIN;

    private final OutboundReducedItems items = new OutboundReducedItems();

    /** Whether the user's items are sent within the payload stream. */
    private boolean isWhole;

    /**
     * Takes over a message of the user.
     *
     * @param written a {@link ByteBuf} or a {@link RpcMessage}
     */
    void take(Object written) {
        if (written instanceof RpcMessage message) {
            parts = message;
            stream = message.content().retain(); // in addition to that of the message itself
        } else {
            assert parts == RpcMessage.PLAIN : "cleared after the message before";
            stream = (ByteBuf) written;
        }
    }

    /** Replaces the stream by the whole message, which includes the user's items; takes it over. */
    void merge(ByteBuf whole) {
        releaseStream();
        stream = whole;
    }

    /** Sends the user's items at their positions in the payload stream, in one Send. */
    void sendWhole() {
        isWhole = true;
    }

    /** Takes the payload stream, and the reference to it, out of this message. */
    ByteBuf takeStream() {
        ByteBuf taken = stream;
        stream = null;
        return taken;
    }

    /** Whether the Send has the payload stream as it is: no items are taken out of it or put into it. */
    boolean isStreamAsIs() {
        return !isWhole && items.count == 0;
    }

    /** Whether the user has written an {@link RpcMessage}, and so reads the reply as one. */
    boolean isInParts() {
        return parts != RpcMessage.PLAIN;
    }

    /** Arguments or results that go into chunks. */
    OutboundReducedItems items() {
        return items;
    }

    /** Length of the reduced payload stream. */
    int reducedBytes() {
        if (isWhole) {
            return Math.toIntExact(parts.wholeLength());
        }
        return stream.readableBytes() - items.removed;
    }

    /** Appends the payload stream without the items and their round-up. */
    void writeReduced(ByteBuf out) {
        if (isWhole) {
            parts.writeWhole(out);
            return;
        }
        int index = stream.readerIndex();
        for (int i = 0; i < items.count; i++) {
            out.writeBytes(stream, index, items.index(i) - index);
            index = items.index(i) + items.bytesInMessage(i);
        }
        if (index != stream.writerIndex()) {
            out.writeBytes(stream, index, stream.writerIndex() - index);
        }
    }

    /** Releases the payload stream; tolerates a stream that the user has already released. */
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
        if (items.count > 0) {
            items.clear();
        }
        isWhole = false;
    }
}
