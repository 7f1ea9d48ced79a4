// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import java.nio.ByteBuffer;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.junit.jupiter.api.Test;
import org.rpcrdma.concurrency.Interleavings;

/** Found: a compare-and-set of {@code spare} that is a plain set. */
class DirectMemoryBudgetTest {

    @Test
    void isLinearizable() {
        Interleavings.checkLinearizability(Budget.class);
    }

    /** The operations of a budget that two of three requests fill, as its spare part. */
    @Param(name = "bytes", gen = IntGen.class, conf = "1:2")
    public static class Budget {

        private final DirectMemoryBudget budget =
                new DirectMemoryBudget(
                        48,
                        new MemorySource() {
                            @Override
                            public ByteBuffer allocate(int bytes) {
                                return ByteBuffer.allocate(bytes);
                            }

                            @Override
                            public void free(ByteBuffer memory) {}
                        });

        @Operation
        public boolean tryAllocate(@Param(name = "bytes") int bytes) {
            try {
                return budget.allocate(16 * bytes).hasRemaining();
            } catch (IllegalStateException e) {
                return false;
            }
        }

        @Operation
        public void free(@Param(name = "bytes") int bytes) {
            budget.free(ByteBuffer.allocate(16 * bytes));
        }

        @Operation
        public long used() {
            return budget.used();
        }

        @Operation
        public boolean tryReserveSpare(@Param(name = "bytes") int bytes) {
            return budget.tryReserveSpare(bytes);
        }

        @Operation
        public void releaseSpare(@Param(name = "bytes") int bytes) {
            budget.releaseSpare(bytes);
        }
    }
}
