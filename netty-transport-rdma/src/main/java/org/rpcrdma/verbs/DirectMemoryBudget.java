// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import io.netty.util.internal.PlatformDependent;
import io.netty.util.internal.SystemPropertyUtil;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Budget of direct memory for all event loops of the JVM. Refuses at once what exceeds the limit, where {@link
 * ByteBuffer#allocateDirect} would collect garbage and sleep for up to a second on the event loop. Thread-safe.
 *
 * <p>The memory counts as the JVM's direct memory, and is refused if less than a sixteenth of that would be left, but
 * for the first 8 MiB, or a quarter of that sixteenth: to know what others have taken has the JVM load its management.
 * It is freed immediately, by {@code sun.misc.Unsafe} if available to Netty, otherwise by an arena of Java 25. On older
 * JDKs without {@code sun.misc.Unsafe} it is kept for later allocations, split and coalesced.
 */
public final class DirectMemoryBudget {

    /** The most spare bytes, for all event loops together. */
    private static final long MOST_SPARE = 16L << 20;

    private static final DirectMemoryBudget JVM =
            new DirectMemoryBudget(
                    SystemPropertyUtil.getLong(
                            "org.rpcrdma.registeredMemoryLimit",
                            PlatformDependent.maxDirectMemory() / 4 * 3));

    private final long limit;
    private final MemorySource source;
    private final AtomicLong used = new AtomicLong();
    private final AtomicLong spare = new AtomicLong();

    /**
     * A separate budget, for tests and for programs that divide their memory.
     *
     * @param limit the most bytes that are allocated at a time
     */
    public DirectMemoryBudget(long limit) {
        this(limit, MemorySource.of(limit));
    }

    DirectMemoryBudget(long limit, MemorySource source) {
        this.limit = limit;
        this.source = source;
    }

    /**
     * {@return the budget of this JVM: {@code -Dorg.rpcrdma.registeredMemoryLimit} bytes, by default three quarters of
     * the JVM's direct memory ({@code -XX:MaxDirectMemorySize}, which is that of the heap by default)}
     */
    public static DirectMemoryBudget jvm() {
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
     * @return direct memory owned by the caller, who frees it by {@link #free}
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
                throw LimitCheckedDirectMemoryAllocator.refused(
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
     * Frees memory immediately. Do not access it afterwards through any view.
     *
     * @param memory what {@link #allocate} returned, itself
     */
    public void free(ByteBuffer memory) {
        int bytes = memory.capacity();
        source.free(memory);
        used.addAndGet(-bytes);
    }

    /**
     * Requests that unused bytes stay allocated for reuse: at most a sixteenth of the limit, and 16 MiB, for the whole
     * JVM. Revert a granted request by {@link #releaseSpare}.
     *
     * @param bytes from 0
     * @return {@code false} if the caller must free them
     */
    public boolean tryReserveSpare(long bytes) {
        long most = Math.min(limit / 16, MOST_SPARE);
        long kept;
        do {
            kept = spare.get();
            if (kept + bytes > most) {
                return false;
            }
            // Not added before the check: a request that is refused would have others refused that
            // fit.
        } while (!spare.compareAndSet(kept, kept + bytes));
        return true;
    }

    /**
     * Reverts {@link #spare}: the bytes are in use again, or are about to be freed.
     *
     * @param bytes as granted
     */
    public void releaseSpare(long bytes) {
        spare.addAndGet(-bytes);
    }

    /** Any thread. */
    @Override
    public String toString() {
        return "DirectMemoryBudget(" + used() + " of " + limit + " bytes)";
    }
}
