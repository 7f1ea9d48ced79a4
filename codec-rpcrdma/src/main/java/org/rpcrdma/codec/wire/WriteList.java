// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.wire;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/** The Write list (RFC 8166, 4.3.2): Write chunks, each a counted array of zero or more plain segments. */
public final class WriteList extends SegmentList {

    private int[] chunkEnds = new int[4];
    int chunks;

    public WriteList() {}

    /** The number of Write chunks; empty ones count. */
    public int chunks() {
        return chunks;
    }

    /** The number of the first segment of a chunk. */
    public int firstSegment(int chunk) {
        return chunk == 0 ? 0 : endSegment(chunk - 1);
    }

    /** The number after that of the last segment of a chunk. */
    public int endSegment(int chunk) {
        if (chunk < 0 || chunk >= chunks) {
            throw new IndexOutOfBoundsException(
                    "chunk " + chunk + " (expected: 0 to " + (chunks - 1) + ')');
        }
        return chunkEnds[chunk];
    }

    /** Whether the chunk has no segments: the result that it stands for stays inline (4.3.2.3). */
    public boolean isEmptyChunk(int chunk) {
        return firstSegment(chunk) == endSegment(chunk);
    }

    /** The bytes of a chunk. */
    public long chunkLength(int chunk) {
        return sum(firstSegment(chunk), endSegment(chunk));
    }

    public void endChunk() {
        if (chunks == chunkEnds.length) {
            chunkEnds = Arrays.copyOf(chunkEnds, chunks << 1);
        }
        chunkEnds[chunks++] = segments();
    }

    @Override
    public void clear() {
        super.clear();
        chunks = 0;
    }

    public void copy(WriteList from) {
        clear();
        copySegments(from);
        if (chunkEnds.length < from.chunks) {
            chunkEnds = new int[from.chunkEnds.length];
        }
        System.arraycopy(from.chunkEnds, 0, chunkEnds, 0, from.chunks);
        chunks = from.chunks;
    }

    /** Whether this list, from a reply, repeats the list that the call offered (3.4.6). */
    public boolean mirrors(WriteList offered) {
        if (chunks != offered.chunks || !isWithin(offered)) {
            return false;
        }
        for (int i = 0; i < chunks; i++) {
            if (chunkEnds[i] != offered.chunkEnds[i]
                    || !isFilledInOrder(offered, firstSegment(i), endSegment(i))) {
                return false;
            }
        }
        return true;
    }

    public int encodedBytes() {
        return 8 * chunks + SEGMENT_BYTES * segments() + 4;
    }

    void encode(ByteBuf out) {
        for (int chunk = 0; chunk < chunks; chunk++) {
            out.writeInt(1);
            int first = firstSegment(chunk);
            int end = endSegment(chunk);
            out.writeInt(end - first);
            for (int i = first; i < end; i++) {
                encodeSegment(out, i);
            }
        }
        out.writeInt(0);
    }
}
