// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import io.netty.util.internal.PlatformDependent;
import io.netty.util.internal.SystemPropertyUtil;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Direct memory, for all event loops of the JVM within one limit. Never waits: what does not fit is refused at
 * once, where {@link ByteBuffer#allocateDirect} would collect garbage and sleep for up to a second on the event
 * loop. Thread-safe.
 *
 * <p>The memory is Netty's own kind, without a cleaner, where Netty can make it (it needs
 * {@code -Dio.netty.tryReflectionSetAccessible=true} and {@code --add-opens java.base/java.nio=ALL-UNNAMED}); Netty
 * counts it against {@code -Dio.netty.maxDirectMemory} together with its other buffers. Otherwise it is the JVM's, and
 * refused when the JVM has less than a sixteenth of its direct memory left besides, so that others who allocate at the
 * same moment do not run into the JVM's limit either.
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
    private final AtomicLong used = new AtomicLong();
    private final AtomicLong spare = new AtomicLong();

    /**
     * A bound of its own, for tests and for programs that divide their memory.
     *
     * @param limit the most bytes that are allocated at a time
     */
    public DirectMemory(long limit) {
        this.limit = limit;
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
        boolean isDone = false;
        try {
            ByteBuffer memory =
                    PlatformDependent.useDirectBufferNoCleaner()
                            ? allocateByNetty(bytes)
                            : allocateByJvm(bytes);
            isDone = true;
            return memory;
        } finally {
            if (!isDone) {
                used.addAndGet(-bytes);
            }
        }
    }

    private void reserve(int bytes) {
        long taken;
        do {
            taken = used.get();
            if (taken + bytes > limit) {
                throw refused(
                        bytes,
                        taken
                                + " of "
                                + limit
                                + " are taken; close connections, or raise"
                                + " -Dorg.rpcrdma.registeredMemoryLimit");
            }
        } while (!used.compareAndSet(taken, taken + bytes));
    }

    private static ByteBuffer allocateByNetty(int bytes) {
        try {
            ByteBuffer memory = PlatformDependent.allocateDirectNoCleaner(bytes);
            PlatformDependent.setMemory(
                    PlatformDependent.directBufferAddress(memory), bytes, (byte) 0);
            return memory;
        } catch (OutOfMemoryError e) {
            throw refused(
                    bytes, "the JVM has no more; raise -XX:MaxDirectMemorySize: " + e.getMessage());
        }
    }

    private static ByteBuffer allocateByJvm(int bytes) {
        long most = JvmPool.MOST;
        long taken = JvmPool.DIRECT.getTotalCapacity();
        if (taken + bytes > most - most / 16) {
            throw refused(
                    bytes,
                    taken + " of the JVM's " + most + " are taken; raise -XX:MaxDirectMemorySize");
        }
        return ByteBuffer.allocateDirect(bytes);
    }

    private static IllegalStateException refused(int bytes, String why) {
        return new IllegalStateException("no direct memory for " + bytes + " bytes more: " + why);
    }

    /**
     * {@return whether {@link #free} works here: without {@code sun.misc.Unsafe} only the garbage collector frees
     * memory}
     */
    public static boolean canFree() {
        return PlatformDependent.hasUnsafe();
    }

    /**
     * Frees memory at once. Nobody may touch it any more, by whatever view of it.
     *
     * @param memory what {@link #allocate} returned, itself
     */
    public void free(ByteBuffer memory) {
        int bytes = memory.capacity();
        if (PlatformDependent.useDirectBufferNoCleaner()) {
            PlatformDependent.freeDirectNoCleaner(memory);
        } else {
            PlatformDependent.freeDirectBuffer(memory);
        }
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
        if (spare.addAndGet(bytes) <= Math.min(limit / 16, MOST_SPARE) || !canFree()) {
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

    /** Looked up when it is needed first. */
    private static final class JvmPool {
        static final long MOST = PlatformDependent.estimateMaxDirectMemory();

        static final BufferPoolMXBean DIRECT =
                ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                        .filter(pool -> pool.getName().equals("direct"))
                        .findFirst()
                        .orElseThrow();
    }

    /** Any thread. */
    @Override
    public String toString() {
        return "DirectMemory(" + used() + " of " + limit + " bytes)";
    }
}
