// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import io.netty.util.internal.PlatformDependent;
import java.nio.ByteBuffer;

/** Allocates and frees direct memory. Thread-safe, never waits. */
interface MemorySource {

    /**
     * Allocates memory until {@link #free}.
     *
     * @param bytes from 0
     * @return direct memory owned by the caller, all bytes 0
     * @throws IllegalStateException when there is none; the message says what to do
     */
    ByteBuffer allocate(int bytes);

    /**
     * Frees memory.
     *
     * @param memory what {@link #allocate} returned, itself
     */
    void free(ByteBuffer memory);

    /**
     * The best source of this JVM: with {@code sun.misc.Unsafe} Netty frees memory without stopping threads, as closing
     * an arena does.
     *
     * @param limit the most bytes that are allocated at a time
     */
    static MemorySource of(long limit) {
        if (PlatformDependent.hasUnsafe()) {
            return UnsafeMemorySource.INSTANCE;
        }
        return SharedArenaDirectMemory.isSupported()
                ? new ArenaMemorySource()
                : new SuballocatingMemorySource(limit);
    }
}
