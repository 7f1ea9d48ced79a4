// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.memory;

import java.util.function.Consumer;

/**
 * Cache of recently released small buffers with their memory, by size class: avoids splitting and coalescing blocks.
 */
final class SizeClassBufferCache {

    /** In bytes. */
    private static final int LARGEST = 8 << 10;

    /** The most bytes in the cache, because cached blocks cannot be coalesced. */
    private static final int MOST_BYTES = 128 << 10;

    private static final int MOST_OF_A_SIZE = 64;

    /** By size class, see {@link FreeBlockLists#list}. */
    private final RegisteredByteBuf[][] buffers =
            new RegisteredByteBuf[FreeBlockLists.list(LARGEST) + 1][];

    private final int[] counts = new int[buffers.length];
    private int bytes;

    boolean isEmpty() {
        return bytes == 0;
    }

    /**
     * Takes a buffer of exactly that size.
     *
     * @param size as {@link FreeBlockLists#size} has it
     * @return {@code null} when there is none
     */
    RegisteredByteBuf poll(int size) {
        if (size > LARGEST) {
            return null;
        }
        int list = FreeBlockLists.list(size);
        int count = counts[list];
        if (count == 0) {
            return null;
        }
        counts[list] = --count;
        bytes -= size;
        RegisteredByteBuf buffer = buffers[list][count];
        buffers[list][count] = null;
        return buffer;
    }

    /** Keeps a buffer with its memory, or returns {@code false}. */
    boolean offer(RegisteredByteBuf buffer) {
        int size = buffer.block.size;
        if (size > LARGEST || bytes + size > MOST_BYTES) {
            return false;
        }
        int list = FreeBlockLists.list(size);
        int count = counts[list];
        if (count == MOST_OF_A_SIZE) {
            return false;
        }
        if (buffers[list] == null) {
            buffers[list] = new RegisteredByteBuf[MOST_OF_A_SIZE];
        }
        buffers[list][count] = buffer;
        counts[list] = count + 1;
        bytes += size;
        return true;
    }

    /** Passes all buffers with their memory to a consumer. */
    void drain(Consumer<RegisteredByteBuf> taker) {
        for (int list = 0; list < counts.length; list++) {
            while (counts[list] > 0) {
                int last = --counts[list];
                RegisteredByteBuf buffer = buffers[list][last];
                buffers[list][last] = null;
                taker.accept(buffer);
            }
        }
        bytes = 0;
    }
}
