// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.wire;

import java.util.Arrays;
import org.rpcrdma.codec.binding.ItemInChunkPredicate;

/**
 * Layout of the rebuilt payload stream of a message with Read chunks: known from the header alone, because positions
 * count in the unreduced stream (RFC 8166, 3.4.5). Chunks may come in any order; what is between them is the reduced
 * stream, from the Send or from the Position Zero Read chunk.
 *
 * <p>With separate items, the reduced stream comes first, contiguous, and the chunks after it.
 */
public final class ReassembledPayloadStreamLayout implements ItemInChunkPredicate {

    private final boolean isApart;

    private long[] positions = new long[2];
    private long[] lengths = new long[2];
    private int chunks;
    private int streamBytes;
    private int total;

    public ReassembledPayloadStreamLayout() {
        this(false);
    }

    public ReassembledPayloadStreamLayout(boolean isApart) {
        this.isApart = isApart;
    }

    /**
     * Lays out a message.
     *
     * @param streamLength bytes of the reduced stream
     * @return the error in positions or lengths; {@code null} if they are valid
     */
    public String compute(
            ReadList reads,
            long streamLength,
            int maxSegmentsPerChunk,
            int maxChunk,
            int maxMessage) {
        chunks = 0;
        for (int i = 0; i < reads.segments(); i++) {
            long position = reads.position(i);
            if ((position & 3) != 0) {
                return "position that is not a multiple of 4";
            }
            if (position != 0) {
                insert(position, reads.length(i));
            }
        }
        for (int i = 0; i < reads.segments(); i++) {
            if (segmentsAt(reads, reads.position(i)) > maxSegmentsPerChunk) {
                return "Read chunk with too many segments";
            }
        }
        if (streamLength > maxChunk && reads.hasChunkAt(0)) {
            return "Position Zero Read chunk longer than allowed";
        }
        long at = 0;
        long taken = 0;
        for (int i = 0; i < chunks; i++) {
            long gap = positions[i] - at;
            taken += gap;
            if (gap < 0) {
                return "position inside another Read chunk";
            }
            if (taken > streamLength) {
                return "position past the end of the payload stream";
            }
            if (lengths[i] > maxChunk) {
                return "Read chunk longer than allowed";
            }
            at = positions[i] + roundUp(lengths[i]);
        }
        long end = at + streamLength - taken;
        if (end > maxMessage) {
            return "message longer than allowed";
        }
        streamBytes = (int) streamLength;
        total = (int) end;
        return null;
    }

    private static int segmentsAt(ReadList reads, long position) {
        int count = 0;
        for (int i = 0; i < reads.segments(); i++) {
            if (reads.position(i) == position) {
                count++;
            }
        }
        return count;
    }

    /** Adds a segment to the chunk at its position; the chunks stay sorted by position. */
    private void insert(long position, long length) {
        int at = chunks;
        while (at > 0 && positions[at - 1] > position) {
            at--;
        }
        if (at > 0 && positions[at - 1] == position) {
            lengths[at - 1] += length;
            return;
        }
        if (chunks == positions.length) {
            positions = Arrays.copyOf(positions, chunks << 1);
            lengths = Arrays.copyOf(lengths, chunks << 1);
        }
        System.arraycopy(positions, at, positions, at + 1, chunks - at);
        System.arraycopy(lengths, at, lengths, at + 1, chunks - at);
        positions[at] = position;
        lengths[at] = length;
        chunks++;
    }

    private static long roundUp(long length) {
        return (length + 3) & ~3L;
    }

    /** The bytes of the rebuilt stream. */
    public int total() {
        return total;
    }

    /** The Read chunks, the one at position zero not among them, by ascending position. */
    public int chunks() {
        return chunks;
    }

    public int position(int chunk) {
        return (int) positions[chunk];
    }

    public int length(int chunk) {
        return (int) lengths[chunk];
    }

    /** The pad bytes that follow the chunk. */
    public int pad(int chunk) {
        return (int) (-lengths[chunk] & 3);
    }

    /** The pieces of the reduced stream: one before each chunk and one after the last; they may have no bytes. */
    public int pieces() {
        return chunks + 1;
    }

    /** Where a piece goes in the memory of the call. */
    public int pieceStart(int piece) {
        if (!isApart) {
            return streamPosition(piece);
        }
        int start = 0;
        for (int i = 0; i < piece; i++) {
            start += pieceLength(i);
        }
        return start;
    }

    private int streamPosition(int piece) {
        return piece == 0 ? 0 : position(piece - 1) + length(piece - 1) + pad(piece - 1);
    }

    public int pieceLength(int piece) {
        return (piece == chunks ? total : position(piece)) - streamPosition(piece);
    }

    /** Where a chunk goes in the memory of the call. */
    public int chunkStart(int chunk) {
        if (!isApart) {
            return position(chunk);
        }
        int start = streamBytes;
        for (int i = 0; i < chunk; i++) {
            start += length(i) + pad(i);
        }
        return start;
    }

    /** The bytes of the memory that are the rebuilt stream, or the reduced one when the chunks are apart. */
    public int memoryBytes() {
        return isApart ? streamBytes : total;
    }

    /** A chunk with its round-up is as long as its item and the round-up: nobody needs to see that. */
    public void itemLength(int chunk, int length) {
        if (isApart) {
            // The chunks after it stay where they are.
            assert roundUp(lengths[chunk]) == roundUp(length);
            lengths[chunk] = length;
        }
    }

    /** Whether the rebuilt memory begins with the reduced stream, or is the whole stream. */
    public boolean isApart() {
        return isApart;
    }

    @Override
    public boolean isReduced(long position, int ordinal, int length) {
        for (int i = 0; i < chunks; i++) {
            if (positions[i] == position) {
                return true;
            }
        }
        return false;
    }

    /** The bytes of the reduced stream. */
    public int streamBytes() {
        return streamBytes;
    }
}
