// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.memory;

import static org.rpcrdma.concurrency.Interleavings.check;
import static org.rpcrdma.concurrency.Interleavings.explore;
import static org.rpcrdma.concurrency.Interleavings.inThreads;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.rpcrdma.channel.Rdma;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.VerbsContext;

/**
 * Buffers that other threads release while the event loop collects them, or closes the pool. No planted defect
 * has been shown to be found yet.
 */
class RegisteredBufferPoolTest {

    private static final int BYTES = 100;

    /** Fewer than of others: each takes a slab and frees it. */
    private static final int INTERLEAVINGS = 100;

    /** An event loop of which no more is needed than how often its collector was called. */
    private static final class Loop {
        private final Thread[] thread = {Thread.currentThread()};
        private final AtomicInteger collections = new AtomicInteger();
        final DirectMemoryBudget budget = new DirectMemoryBudget(1 << 30);
        final RegisteredBufferPool pool;

        Loop(VerbsContext context) {
            pool =
                    new RegisteredBufferPool(
                            context,
                            budget,
                            () -> Thread.currentThread() == thread[0],
                            collections::incrementAndGet,
                            (bytes, why) -> {});
        }

        void runTasks() {
            thread[0] = Thread.currentThread();
            while (collections.get() > 0) {
                collections.decrementAndGet();
                pool.collect();
            }
        }
    }

    /** What was released is back once the loop has run its tasks: no later release has to help. */
    @Test
    void noReleasedBufferStaysBehind() throws Exception {
        try (VerbsContext context = Rdma.provider().open()) {
            explore(
                    INTERLEAVINGS,
                    () -> {
                        Loop loop = new Loop(context);
                        RegisteredByteBuf a = loop.pool.take(BYTES);
                        RegisteredByteBuf b = loop.pool.take(BYTES);
                        loop.thread[0] = null;
                        a.release();
                        inThreads(loop::runTasks, b::release);
                        loop.runTasks();
                        check(loop.pool.lentBytesLately() == 0, "a buffer is not back");
                        loop.pool.close();
                        check(loop.budget.used() == 0, "memory is left");
                    });
        }
    }

    /** A buffer that is released while the pool is closed is freed by one of the two. */
    @Test
    void aReleaseDuringTheCloseFreesTheMemory() throws Exception {
        try (VerbsContext context = Rdma.provider().open()) {
            explore(
                    INTERLEAVINGS,
                    () -> {
                        Loop loop = new Loop(context);
                        RegisteredByteBuf a = loop.pool.take(BYTES);
                        RegisteredByteBuf b = loop.pool.take(BYTES);
                        loop.thread[0] = null;
                        inThreads(a::release, b::release, loop.pool::close);
                        check(loop.budget.used() == 0, "memory is left");
                    });
        }
    }
}
