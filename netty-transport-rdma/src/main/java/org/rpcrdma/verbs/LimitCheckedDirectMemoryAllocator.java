// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import io.netty.util.internal.PlatformDependent;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;

/**
 * Allocation below the JVM's limit of direct memory: at the limit, the JVM would collect garbage and sleep for up to a
 * second on the event loop.
 */
final class LimitCheckedDirectMemoryAllocator {

    /** Bytes that this project counts against the JVM's limit, although the JVM does not. */
    private static final AtomicLong uncounted = new AtomicLong();

    /**
     * The first bytes are allocated without a look at what others have taken, for which the JVM loads its management,
     * before the first call of a program. They are a quarter of what is kept free, at most.
     */
    private static final UncheckedAllowance first =
            new UncheckedAllowance(Math.min(8 << 20, limit() / 64));

    private LimitCheckedDirectMemoryAllocator() {}

    /**
     * Allocates memory while a sixteenth of the JVM's limit stays free, so that concurrent allocations do not reach the
     * limit either.
     *
     * @throws IllegalStateException when it does not fit
     */
    static ByteBuffer allocate(int bytes, IntFunction<ByteBuffer> source) {
        return allocate(bytes, source, first);
    }

    static ByteBuffer allocate(
            int bytes, IntFunction<ByteBuffer> source, UncheckedAllowance unchecked) {
        if (!unchecked.tryTake(bytes)) {
            check(bytes);
        }
        try {
            return source.apply(bytes);
        } catch (OutOfMemoryError e) {
            unchecked.end(); // the JVM has slept for this: from now on it is asked before
            throw refused(
                    bytes, "the JVM has no more; raise -XX:MaxDirectMemorySize: " + e.getMessage());
        }
    }

    private static void check(int bytes) {
        long most = Pool.MOST;
        long taken = Pool.taken() + uncounted.get();
        if (taken + bytes > most - most / 16) {
            throw refused(
                    bytes,
                    taken + " of the JVM's " + most + " are taken; raise -XX:MaxDirectMemorySize");
        }
    }

    private static long limit() {
        return PlatformDependent.estimateMaxDirectMemory();
    }

    /**
     * Counts bytes that the JVM does not count, such as those of an arena.
     *
     * @param bytes negative when they were given back
     */
    static void count(long bytes) {
        uncounted.addAndGet(bytes);
    }

    static IllegalStateException refused(int bytes, String why) {
        return new IllegalStateException("no direct memory for " + bytes + " bytes more: " + why);
    }

    /** For memory that is freed twice, or comes from somewhere else. */
    static IllegalArgumentException notLent(ByteBuffer memory) {
        return new IllegalArgumentException(
                "memory: " + memory + " (expected: what was allocated here and is not freed)");
    }

    /** Initialized lazily. */
    private static final class Pool {
        static final long MOST = limit();

        static final BufferPoolMXBean DIRECT = find();

        /** On the module path {@code java.management} may be missing; then the use by others is unknown. */
        private static BufferPoolMXBean find() {
            try {
                return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                        .filter(pool -> pool.getName().equals("direct"))
                        .findFirst()
                        .orElse(null);
            } catch (LinkageError e) {
                return null;
            }
        }

        static long taken() {
            return DIRECT == null ? 0 : DIRECT.getTotalCapacity();
        }
    }
}
