// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import io.netty.util.internal.PlatformDependent;
import io.netty.util.internal.SystemPropertyUtil;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Direct memory, for all event loops of the JVM within one limit. Never waits: what does not fit is refused at
 * once, where {@link ByteBuffer#allocateDirect} would collect garbage and sleep for up to a second on the event
 * loop. Thread-safe.
 *
 * <p>The memory counts as the JVM's direct memory, and is refused when the JVM has less than a sixteenth of that left
 * besides. What is freed is free at once: {@code sun.misc.Unsafe} frees it where Netty has that, an arena of Java 25
 * where there are such. On older JDKs without {@code sun.misc.Unsafe} it is kept for later, cut and joined for every
 * size.
 */
public final class DirectMemory {

    /** Bytes that may be kept without use, for all event loops together. */
    private static final long MOST_SPARE = 16L << 20;

    private static final DirectMemory JVM =
            new DirectMemory(
                    SystemPropertyUtil.getLong(
                            "org.rpcrdma.registeredMemoryLimit",
                            PlatformDependent.maxDirectMemory() / 4 * 3));

    private final long limit;
    private final MemorySource source;
    private final AtomicLong used = new AtomicLong();
    private final AtomicLong spare = new AtomicLong();

    /**
     * A bound of its own, for tests and for programs that divide their memory.
     *
     * @param limit the most bytes that are allocated at a time
     */
    public DirectMemory(long limit) {
        this(limit, MemorySource.of(limit));
    }

    DirectMemory(long limit, MemorySource source) {
        this.limit = limit;
        this.source = source;
    }

    /**
     * {@return that of this JVM: {@code -Dorg.rpcrdma.registeredMemoryLimit} bytes, by default three quarters of the
     * JVM's direct memory ({@code -XX:MaxDirectMemorySize}, which is that of the heap by default)}
     */
    public static DirectMemory jvm() {
        return JVM;
    }

    /** {@return the most bytes that are allocated at a time} */
    public long limit() {
        return limit;
    }

    /** {@return the bytes that are allocated now} */
    public long used() {
        return used.get();
    }

    /**
     * Allocates memory, all bytes 0, until {@link #free}.
     *
     * @param bytes from 0
     * @return direct memory of the caller alone, which gives it back by {@link #free}
     * @throws IllegalStateException when it does not fit; the message says what to do
     */
    public ByteBuffer allocate(int bytes) {
        reserve(bytes);
        try {
            return source.allocate(bytes);
        } catch (Throwable t) {
            used.addAndGet(-bytes);
            throw t;
        }
    }

    private void reserve(int bytes) {
        long taken;
        do {
            taken = used.get();
            if (taken + bytes > limit) {
                throw JvmMemory.refused(
                        bytes,
                        taken
                                + " of "
                                + limit
                                + " are taken; close connections, or raise"
                                + " -Dorg.rpcrdma.registeredMemoryLimit");
            }
        } while (!used.compareAndSet(taken, taken + bytes));
    }

    /**
     * Frees memory at once. Nobody may touch it any more, by whatever view of it.
     *
     * @param memory what {@link #allocate} returned, itself
     */
    public void free(ByteBuffer memory) {
        int bytes = memory.capacity();
        source.free(memory);
        used.addAndGet(-bytes);
    }

    /**
     * Asks whether so many bytes that nobody uses may stay allocated, to be used soon again: at most a sixteenth of the
     * limit, and 16 MiB, do for the whole JVM. A yes is taken back by {@link #unspare}.
     *
     * @param bytes from 0
     * @return {@code false} where they are to be freed
     */
    public boolean spare(long bytes) {
        if (spare.addAndGet(bytes) <= Math.min(limit / 16, MOST_SPARE)) {
            return true;
        }
        spare.addAndGet(-bytes);
        return false;
    }

    /**
     * Spared bytes are used again, or are about to be freed.
     *
     * @param bytes as many as were asked for
     */
    public void unspare(long bytes) {
        spare.addAndGet(-bytes);
    }

    /** Any thread. */
    @Override
    public String toString() {
        return "DirectMemory(" + used() + " of " + limit + " bytes)";
    }
}
