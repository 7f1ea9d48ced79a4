// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import java.nio.ByteBuffer;
import java.util.IdentityHashMap;

/**
 * Memory of arenas, one for each piece, since an arena ends as a whole. The JVM does not count it as direct memory, so
 * it is counted here: the limit holds for both together.
 */
final class ArenaMemory implements MemorySource {

    /** Two buffers are equal when their bytes are, so it goes by the objects. */
    private final IdentityHashMap<ByteBuffer, MemoryArena> arenas = new IdentityHashMap<>();

    @Override
    public ByteBuffer allocate(int bytes) {
        MemoryArena arena = new MemoryArena();
        try {
            ByteBuffer memory = JvmMemory.allocate(bytes, arena::allocate);
            synchronized (arenas) {
                arenas.put(memory, arena);
            }
            JvmMemory.count(bytes);
            return memory;
        } catch (Throwable t) {
            arena.close();
            throw t;
        }
    }

    @Override
    public void free(ByteBuffer memory) {
        MemoryArena arena;
        synchronized (arenas) {
            arena = arenas.remove(memory);
        }
        if (arena == null) {
            throw JvmMemory.notLent(memory);
        }
        arena.close();
        JvmMemory.count(-memory.capacity());
    }
}
