// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.channel.RdmaSendWithInvalidate;
import org.rpcrdma.codec.wire.SegmentList;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Chunk lists of an inbound call: memory of the requester to read and to write. The reply returns the same Write list
 * and Reply chunk with the lengths written (RFC 8166, 4.3.2). Other classes read the fields; only this class writes
 * them.
 */
final class InboundCallChunks {

    /** Header of the call; its lists become those of the reply. */
    final TransportHeader header = new TransportHeader();

    /** The call came with three empty lists. */
    boolean areNone = true;

    private boolean mayInvalidate;
    private int handle;

    /**
     * Takes the lists of a call; the other header gets empty ones.
     *
     * @param isInvalidationAgreed whether both sides have announced Send With Invalidate (RFC 8797, 4.1)
     */
    void take(TransportHeader received, boolean isInvalidationAgreed) {
        header.swap(received);
        areNone = !header.hasChunks();
        mayInvalidate = isInvalidationAgreed && !areNone && isOneHandle();
        handle = mayInvalidate ? firstHandle() : 0;
    }

    /**
     * Whether the call has exactly one handle. With several, the requester must invalidate the others itself, so Send
     * With Invalidate saves nothing.
     */
    private boolean isOneHandle() {
        int segments =
                header.reads().segments() + header.writes().segments() + header.reply().segments();
        if (segments == 0) {
            return false; // empty Write chunks alone
        }
        int first = firstHandle();
        return hasNoOther(header.reads(), first)
                && hasNoOther(header.writes(), first)
                && hasNoOther(header.reply(), first);
    }

    private int firstHandle() {
        if (header.reads().segments() > 0) {
            return header.reads().handle(0);
        }
        return header.writes().segments() > 0
                ? header.writes().handle(0)
                : header.reply().handle(0);
    }

    private static boolean hasNoOther(SegmentList list, int handle) {
        for (int i = 0; i < list.segments(); i++) {
            if (list.handle(i) != handle) {
                return false;
            }
        }
        return true;
    }

    /** The Read chunks of the call are no longer used: the reply has its own Read list, initially empty. */
    void beginReply() {
        if (!areNone) {
            header.reads().clear();
        }
    }

    /** The Send of the reply, with invalidation of the call's handle where permitted. */
    Object toSend(ByteBuf reply) {
        return mayInvalidate ? new RdmaSendWithInvalidate(reply, handle) : reply;
    }

    void reset() {
        header.clear();
        areNone = true;
        mayInvalidate = false;
    }
}
