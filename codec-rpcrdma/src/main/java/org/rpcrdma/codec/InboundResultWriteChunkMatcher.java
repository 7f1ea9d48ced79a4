// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.Arrays;
import org.rpcrdma.codec.binding.ItemInChunkPredicate;
import org.rpcrdma.codec.wire.WriteList;

/**
 * Finds the Write chunk of each eligible result of a reply. Results use the chunks in order (RFC 8166, 4.3.2.1). An
 * empty result either consumes a chunk, which comes back unused, or leaves the chunk to the next result, as the Linux
 * server does: the RFC does not say which. So after empty results several chunks are candidates for a result; the first
 * one that was used has the result. Reused for later replies.
 */
final class InboundResultWriteChunkMatcher implements ItemInChunkPredicate {

    /** Value in the place of a chunk: the result is in the payload stream. */
    static final int INLINE = -1;

    private WriteList returned;

    /** Candidate chunks of the next result: first to last. */
    private int first;

    private int last;

    /** The chunk of each result. */
    private int[] chunks = new int[4];

    private int results;
    private int placed;
    private boolean isAnyLeftInline;

    /**
     * Begins another reply.
     *
     * @param list its Write list
     */
    InboundResultWriteChunkMatcher of(WriteList list) {
        returned = list;
        first = 0;
        last = 0;
        results = 0;
        placed = 0;
        isAnyLeftInline = false;
        return this;
    }

    @Override
    public boolean isReduced(long position, int ordinal, int length) {
        int chunk = length == 0 ? INLINE : firstUsed();
        if (ordinal == chunks.length) {
            chunks = Arrays.copyOf(chunks, ordinal << 1);
        }
        chunks[ordinal] = chunk;
        results = ordinal + 1;
        if (length == 0) {
            last++;
        } else if (chunk == INLINE) {
            passInline();
        } else {
            placed++;
            first = chunk + 1;
            last = first;
        }
        return chunk != INLINE;
    }

    private int firstUsed() {
        for (int chunk = first; chunk <= last && chunk < returned.chunks(); chunk++) {
            if (returned.chunkLength(chunk) > 0) {
                return chunk;
            }
        }
        return INLINE;
    }

    /** A result is inline because its chunk is empty, or because it has none (4.3.2.1, 4.3.2.3). */
    private void passInline() {
        boolean isRight = false;
        int from = first;
        for (int chunk = Math.min(last, returned.chunks()); chunk >= from; chunk--) {
            if (chunk == returned.chunks() || returned.isEmptyChunk(chunk)) {
                first = Math.min(chunk + 1, returned.chunks());
                last = isRight ? last : first;
                isRight = true;
            }
        }
        isAnyLeftInline |= !isRight;
    }

    /** The chunk of a result; {@link #INLINE} for none. */
    int chunkOf(int result) {
        return chunks[result];
    }

    /** The result in a chunk; negative when there is none. */
    int resultIn(int chunk) {
        for (int result = 0; result < results; result++) {
            if (chunks[result] == chunk) {
                return result;
            }
        }
        return -1;
    }

    /** Whether a result is in the payload stream although it had a chunk. */
    boolean isAnyLeftInline() {
        return isAnyLeftInline;
    }

    /** Whether a used chunk belongs to no result. */
    boolean isAnyChunkLeft() {
        int used = 0;
        for (int chunk = 0; chunk < returned.chunks(); chunk++) {
            used += returned.chunkLength(chunk) > 0 ? 1 : 0;
        }
        return used > placed;
    }
}
