// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import java.nio.ByteBuffer;
import java.util.IdentityHashMap;

/**
 * Memory of arenas, one for each allocation, because an arena is freed as a whole. The JVM does not count this memory
 * as direct memory, so it is counted here: the limit applies to both together.
 */
final class ArenaMemorySource implements MemorySource {

    /** By identity, because buffers with equal bytes are equal. */
    private final IdentityHashMap<ByteBuffer, SharedArenaDirectMemory> arenas =
            new IdentityHashMap<>();

    @Override
    public ByteBuffer allocate(int bytes) {
        SharedArenaDirectMemory arena = new SharedArenaDirectMemory();
        try {
            ByteBuffer memory = LimitCheckedDirectMemoryAllocator.allocate(bytes, arena::allocate);
            synchronized (arenas) {
                arenas.put(memory, arena);
            }
            LimitCheckedDirectMemoryAllocator.count(bytes);
            return memory;
        } catch (Throwable t) {
            arena.close();
            throw t;
        }
    }

    @Override
    public void free(ByteBuffer memory) {
        SharedArenaDirectMemory arena;
        synchronized (arenas) {
            arena = arenas.remove(memory);
        }
        if (arena == null) {
            throw LimitCheckedDirectMemoryAllocator.notLent(memory);
        }
        arena.close();
        LimitCheckedDirectMemoryAllocator.count(-memory.capacity());
    }
}
