// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.wire;

import io.netty.buffer.ByteBuf;

/** The Reply chunk slot (RFC 8166, 4.3.3): absent, or one counted array of plain segments. */
public final class ReplyChunk extends SegmentList {

    boolean present;

    public ReplyChunk() {}

    /** Whether there is a Reply chunk; it may have no segments. */
    public boolean isPresent() {
        return present;
    }

    /** The bytes of the chunk; 0 when it is absent. */
    public long chunkLength() {
        return sum(0, segments());
    }

    public void setPresent() {
        present = true;
    }

    @Override
    public void clear() {
        super.clear();
        present = false;
    }

    public void copy(ReplyChunk from) {
        clear();
        copySegments(from);
        present = from.present;
    }

    public boolean mirrors(ReplyChunk offered) {
        return offered.present && isWithin(offered) && isFilledInOrder(offered, 0, segments());
    }

    public int encodedBytes() {
        return present ? 8 + SEGMENT_BYTES * segments() : 4;
    }

    void encode(ByteBuf out) {
        if (!present) {
            out.writeInt(0);
            return;
        }
        out.writeInt(1);
        out.writeInt(segments());
        for (int i = 0; i < segments(); i++) {
            encodeSegment(out, i);
        }
    }
}
