// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.memory;

import static org.rpcrdma.concurrency.Interleavings.check;
import static org.rpcrdma.concurrency.Interleavings.explore;
import static org.rpcrdma.concurrency.Interleavings.inThreads;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.rpcrdma.concurrency.Stub;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.ModelMemory;

/** Buffers that another thread releases, while the event loop collects. Found: the flag cleared behind that. */
class RegisteredBufferPoolTest {

    private static final int BYTES = 64;
    private static final int SLAB = 1 << 20;

    private static final class Region implements MemoryRegion {
        @Override
        public long address() {
            return 1;
        }

        @Override
        public int length() {
            return SLAB;
        }

        @Override
        public int localKey() {
            return 1;
        }

        @Override
        public void deregister() {}
    }

    /** A pool, two buffers of which are lent, and its event loop, which is whoever says so. */
    private static final class Lent {
        final AtomicInteger collections = new AtomicInteger();
        final DirectMemoryBudget budget = ModelMemory.budget(4L * SLAB);
        final EventLoopVerbsContext context =
                Stub.of(EventLoopVerbsContext.class, method -> new Region());
        volatile Thread loop = Thread.currentThread();
        final RegisteredBufferPool pool =
                new RegisteredBufferPool(
                        context,
                        budget,
                        () -> Thread.currentThread() == loop,
                        collections::incrementAndGet,
                        (bytes, why) -> {});
        final RegisteredByteBuf first = pool.take(BYTES);
        final RegisteredByteBuf second = pool.take(BYTES);

        void collect() {
            loop = Thread.currentThread();
            if (collections.getAndSet(0) > 0) {
                pool.collect();
            }
        }
    }

    @Test
    void noBufferStaysBehind() {
        explore(
                () -> {
                    Lent lent = new Lent();
                    lent.loop = null;
                    lent.pool.takeBack(lent.first);
                    inThreads(lent::collect, () -> lent.pool.takeBack(lent.second));
                    lent.collect();
                    check(lent.pool.lentBytesLately() == 0, "a buffer stays behind");
                });
    }
}
