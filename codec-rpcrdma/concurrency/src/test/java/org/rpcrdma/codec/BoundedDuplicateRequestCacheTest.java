// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.rpcrdma.concurrency.Interleavings.check;
import static org.rpcrdma.concurrency.Interleavings.explore;
import static org.rpcrdma.concurrency.Interleavings.inThreads;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.concurrent.atomic.AtomicInteger;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.junit.jupiter.api.Test;
import org.rpcrdma.codec.DuplicateRequestCache.Progress;
import org.rpcrdma.concurrency.Interleavings;

/**
 * Found: {@code begin} with a lock of its own.
 */
class BoundedDuplicateRequestCacheTest {

    private static BoundedDuplicateRequestCache newCache() {
        return new BoundedDuplicateRequestCache(2, 8, 8, (program, version, procedure) -> true);
    }

    private static DuplicateRequestCache.Call call(int xid) {
        return new DuplicateRequestCache.Call(FatalCallXidCacheTest.address(1), xid, 1, 1, 1, 1, 1);
    }

    @Test
    void isLinearizable() {
        Interleavings.checkLinearizability(Cache.class);
    }

    /** Its waiters are answered outside of the lock, so what they are told is the matter of the programs below. */
    @Param(name = "xid", gen = IntGen.class, conf = "1:3")
    public static class Cache {

        private final BoundedDuplicateRequestCache cache = newCache();

        @Operation
        public Progress begin(@Param(name = "xid") int xid) {
            return cache.begin(call(xid), new Executor(cache, xid, null)).progress();
        }

        @Operation
        public void done(@Param(name = "xid") int xid) {
            cache.done(call(xid), Unpooled.wrappedBuffer(new byte[4]));
        }

        @Operation
        public String state() {
            return cache.toString();
        }
    }

    /** Whoever sends a call, or sends it again: executes it if it has to, and gets one answer. */
    private static final class Executor implements DuplicateRequestCache.Waiter, Runnable {
        private final BoundedDuplicateRequestCache cache;
        private final DuplicateRequestCache.Call call;
        private final AtomicInteger executed;
        private final AtomicInteger answers = new AtomicInteger();

        /** Executions that end without a reply, as with the connection. */
        private int failures;

        Executor(BoundedDuplicateRequestCache cache, int xid, AtomicInteger executed) {
            this.cache = cache;
            this.call = call(xid);
            this.executed = executed;
        }

        @Override
        public void run() {
            Progress progress = cache.begin(call, this).progress();
            if (progress == Progress.NEW) {
                execute();
            } else if (progress == Progress.DONE) {
                answers.incrementAndGet();
            }
        }

        private void execute() {
            if (failures-- > 0) {
                answers.incrementAndGet();
                cache.abandon(call);
                return;
            }
            executed.incrementAndGet();
            cache.done(call, Unpooled.wrappedBuffer(new byte[4]));
            answers.incrementAndGet();
        }

        @Override
        public void answered(ByteBuf reply) {
            answers.incrementAndGet();
        }

        @Override
        public void abandoned() {
            execute();
        }
    }

    @Test
    void aCallIsExecutedOnceAndAnsweredToEachWhoSentIt() {
        explore(
                () -> {
                    BoundedDuplicateRequestCache cache = newCache();
                    AtomicInteger executed = new AtomicInteger();
                    Executor a = new Executor(cache, 1, executed);
                    Executor b = new Executor(cache, 1, executed);
                    inThreads(a, b);
                    check(executed.get() == 1, "executed " + executed + " times");
                    check(a.answers.get() == 1 && b.answers.get() == 1, "not one answer");
                });
    }

    @Test
    void aCallThatIsAbandonedIsExecutedByAWaiter() {
        explore(
                () -> {
                    BoundedDuplicateRequestCache cache = newCache();
                    AtomicInteger executed = new AtomicInteger();
                    Executor a = new Executor(cache, 1, executed);
                    Executor b = new Executor(cache, 1, executed);
                    Executor c = new Executor(cache, 1, executed);
                    a.failures = 1;
                    inThreads(a, b, c);
                    check(executed.get() == 1, "executed " + executed + " times");
                    check(
                            a.answers.get() == 1 && b.answers.get() == 1 && c.answers.get() == 1,
                            "not one answer each");
                });
    }
}
