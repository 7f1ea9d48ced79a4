// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;

/**
 * Iterator over the contiguous pieces of a reduced payload stream, that is, of a message without its reduced items.
 * Reused for each message, on one event loop.
 */
final class OutboundReducedStreamPieceIterator {

    private final LeadingContiguousBufferPiece piece = new LeadingContiguousBufferPiece();
    private ByteBuf message;
    private OutboundReducedItems items;
    private int index;
    private int item;

    /** Begins a message, which is borrowed. */
    OutboundReducedStreamPieceIterator of(OutboundPayloadStreamWithItems payload) {
        message = payload.stream;
        items = payload.items();
        index = message.readerIndex();
        item = 0;
        return this;
    }

    /**
     * Advances to the next piece.
     *
     * @param most the most bytes of the piece, from 1
     * @return {@code false} after the last one
     */
    boolean advance(long most) {
        while (item < items.count && items.index(item) == index) {
            index += items.bytesInMessage(item++);
        }
        int stop = item < items.count ? items.index(item) : message.writerIndex();
        if (index == stop) {
            return false;
        }
        piece.of(message, index, (int) Math.min(stop - index, most));
        index += piece.length();
        return true;
    }

    LeadingContiguousBufferPiece piece() {
        return piece;
    }
}
