// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.channel.RdmaSendWithInvalidate;
import org.rpcrdma.codec.wire.SegmentList;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Chunk lists of an inbound call: what the requester provides to be read, and to be written. The reply returns the
 * same Write list and Reply chunk, with the lengths that were used (RFC 8166, 4.3.2). Others read the fields; only this
 * class writes them.
 */
final class InboundChunks {

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
    }

    /** Send With Invalidate is for calls with exactly one handle: of several the requester fences the others anyway. */
    private boolean isOneHandle() {
        int reads = header.reads().segments();
        int writes = header.writes().segments();
        return findHandle(header.reads(), false)
                && findHandle(header.writes(), reads > 0)
                && findHandle(header.reply(), reads + writes > 0)
                && reads + writes + header.reply().segments() > 0;
    }

    private boolean findHandle(SegmentList list, boolean isKnown) {
        boolean known = isKnown;
        for (int i = 0; i < list.segments(); i++) {
            if (known && list.handle(i) != handle) {
                return false;
            }
            handle = list.handle(i);
            known = true;
        }
        return true;
    }

    /** The Read chunks of the call are done with: the reply has a Read list of its own, empty at first. */
    void beginReply() {
        if (!areNone) {
            header.reads().clear();
        }
    }

    /** The Send of the reply, which invalidates the handle of the call if it may. */
    Object toSend(ByteBuf reply) {
        return mayInvalidate ? new RdmaSendWithInvalidate(reply, handle) : reply;
    }

    void reset() {
        header.clear();
        areNone = true;
        mayInvalidate = false;
    }
}
