// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import io.netty.util.internal.PlatformDependent;
import java.nio.ByteBuffer;

/** Gives direct memory and takes it back, so that the same bytes serve every size again. Thread-safe, never waits. */
interface MemorySource {

    /**
     * Allocates memory until {@link #free}.
     *
     * @param bytes from 0
     * @return direct memory of the caller alone, all bytes 0
     * @throws IllegalStateException when there is none; the message says what to do
     */
    ByteBuffer allocate(int bytes);

    /**
     * Takes memory back.
     *
     * @param memory what {@link #allocate} returned, itself
     */
    void free(ByteBuffer memory);

    /**
     * The best source of this JVM. Netty frees any memory by {@code sun.misc.Unsafe}, and stops no thread for it as the
     * end of an arena does.
     *
     * @param limit the most bytes that are allocated at a time
     */
    static MemorySource of(long limit) {
        if (PlatformDependent.hasUnsafe()) {
            return CleanedMemory.INSTANCE;
        }
        return MemoryArena.isSupported() ? new ArenaMemory() : new KeptMemory(limit);
    }
}
