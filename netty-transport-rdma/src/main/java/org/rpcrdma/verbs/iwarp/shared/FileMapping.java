// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.shared;

import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import org.rpcrdma.verbs.SharedArenaDirectMemory;

/**
 * A file in memory, until it is closed: by {@code sun.misc.Unsafe} or by the end of an arena. Where there is neither,
 * the garbage collector unmaps it.
 */
final class FileMapping implements AutoCloseable {

    private final ByteBuffer memory;

    /** {@code null} where the memory is not of one. */
    private final SharedArenaDirectMemory arena;

    private FileMapping(ByteBuffer memory, SharedArenaDirectMemory arena) {
        this.memory = memory;
        this.arena = arena;
    }

    /** Maps the beginning of a file, and extends a shorter file. */
    static FileMapping of(FileChannel file, long bytes) throws IOException {
        if (PlatformDependent.hasUnsafe() || !SharedArenaDirectMemory.isSupported()) {
            return new FileMapping(file.map(FileChannel.MapMode.READ_WRITE, 0, bytes), null);
        }
        SharedArenaDirectMemory arena = new SharedArenaDirectMemory();
        try {
            return new FileMapping(arena.map(file, bytes), arena);
        } catch (Throwable t) {
            arena.close();
            throw t;
        }
    }

    /** Do not access after close. */
    ByteBuffer memory() {
        return memory;
    }

    @Override
    public void close() {
        if (arena != null) {
            arena.close();
        } else if (PlatformDependent.hasUnsafe()) {
            PlatformDependent.freeDirectBuffer(memory);
        }
    }
}
