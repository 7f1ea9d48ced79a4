// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;

/**
 * The payload stream of a message, without the items that were taken out of it, piece by piece as it lies in memory.
 * Used again for each message, on one event loop.
 */
final class ReducedPayloadStream {

    private final LeadingContiguousPiece piece = new LeadingContiguousPiece();
    private ByteBuf message;
    private OutboundReducedItems items;
    private int index;
    private int item;

    /** Begins with the first byte of a message, which is borrowed. */
    ReducedPayloadStream of(OutboundPayload payload) {
        message = payload.stream();
        items = payload.items();
        index = message.readerIndex();
        item = 0;
        return this;
    }

    /**
     * Goes on to the next piece.
     *
     * @param most bytes that it may have, from 1
     * @return {@code false} after the last one
     */
    boolean next(long most) {
        while (item < items.count() && items.index(item) == index) {
            index += items.bytesInMessage(item++);
        }
        int stop = item < items.count() ? items.index(item) : message.writerIndex();
        if (index == stop) {
            return false;
        }
        piece.of(message, index, (int) Math.min(stop - index, most));
        index += piece.length();
        return true;
    }

    LeadingContiguousPiece piece() {
        return piece;
    }
}
