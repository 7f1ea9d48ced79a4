// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;

/**
 * Memory source for a JVM that frees direct memory only by garbage collection: keeps a few chunks, each as large as all
 * before together, splits them into ranges and coalesces freed ranges. The limit bounds the chunks.
 */
final class SuballocatingMemorySource implements MemorySource {

    /** Size of the first chunk, unless the limit is lower. */
    private static final int LEAST_CHUNK = 16 << 20;

    private static final int LARGEST_CHUNK = 1 << 30;

    /** All pieces begin at multiples of that. */
    private static final int UNIT = 8;

    private static final byte[] ZEROES = new byte[8192];

    private final long limit;

    /** The ranges that begin where their chunks do. */
    private final List<Range> chunks = new ArrayList<>();

    /** By identity, because buffers with equal bytes are equal. */
    private final IdentityHashMap<ByteBuffer, Range> lent = new IdentityHashMap<>();

    /** Bytes of all chunks. */
    private long bytes;

    /** @param limit the most bytes that chunks have together */
    SuballocatingMemorySource(long limit) {
        this.limit = limit;
    }

    @Override
    public ByteBuffer allocate(int wanted) {
        ByteBuffer memory = take(wanted);
        for (int i = 0; i < wanted; i += ZEROES.length) {
            memory.put(i, ZEROES, 0, Math.min(ZEROES.length, wanted - i));
        }
        return memory;
    }

    private synchronized ByteBuffer take(int wanted) {
        int size = Math.max(UNIT, (wanted + UNIT - 1) & -UNIT);
        Range range = smallest(size);
        if (range == null) {
            range = newChunk(wanted, size);
        }
        range.cut(size);
        range.isLent = true;
        ByteBuffer memory = range.chunk.slice(range.offset, wanted);
        lent.put(memory, range);
        return memory;
    }

    /** The smallest free range that is large enough, so that large ones stay whole; {@code null} if there is none. */
    private Range smallest(int size) {
        Range best = null;
        for (Range chunk : chunks) {
            for (Range range = chunk; range != null; range = range.right) {
                if (!range.isLent
                        && range.size >= size
                        && (best == null || range.size < best.size)) {
                    best = range;
                }
            }
        }
        return best;
    }

    private Range newChunk(int wanted, int size) {
        long left = limit - bytes;
        if (left < wanted) {
            throw LimitCheckedDirectMemoryAllocator.refused(
                    wanted,
                    "what is free of "
                            + bytes
                            + " is in smaller pieces, and without sun.misc.Unsafe or Java 25 they"
                            + " are kept; raise -Dorg.rpcrdma.registeredMemoryLimit");
        }
        long most = Math.min(Math.max(bytes, LEAST_CHUNK), Math.min(left, LARGEST_CHUNK));
        ByteBuffer chunk;
        try {
            chunk = allocateChunk((int) Math.max(size, most));
        } catch (IllegalStateException e) {
            chunk = allocateChunk(size);
        }
        bytes += chunk.capacity();
        Range range = new Range(chunk, 0, chunk.capacity());
        chunks.add(range);
        return range;
    }

    private static ByteBuffer allocateChunk(int size) {
        return LimitCheckedDirectMemoryAllocator.allocate(size, ByteBuffer::allocateDirect);
    }

    @Override
    public synchronized void free(ByteBuffer memory) {
        Range range = lent.remove(memory);
        if (range == null) {
            throw LimitCheckedDirectMemoryAllocator.notLent(memory);
        }
        range.isLent = false;
        range.joinRight();
        if (range.left != null) {
            range.left.joinRight();
        }
    }

    /** A part of a chunk, in use or free. The ranges of a chunk are contiguous. */
    private static final class Range {
        final ByteBuffer chunk;
        final int offset;
        int size;
        boolean isLent;
        Range left;
        Range right;

        Range(ByteBuffer chunk, int offset, int size) {
            this.chunk = chunk;
            this.offset = offset;
            this.size = size;
        }

        /** Splits this range to that size; the rest is a separate range. */
        void cut(int newSize) {
            if (size == newSize) {
                return;
            }
            Range rest = new Range(chunk, offset + newSize, size - newSize);
            rest.left = this;
            rest.right = right;
            if (right != null) {
                right.left = rest;
            }
            right = rest;
            size = newSize;
        }

        /** Coalesces this range with the next one, if both are free. */
        void joinRight() {
            if (isLent || right == null || right.isLent) {
                return;
            }
            size += right.size;
            right = right.right;
            if (right != null) {
                right.left = this;
            }
        }
    }
}
