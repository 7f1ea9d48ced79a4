// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import java.nio.ByteBuffer;
import java.util.function.IntConsumer;

/** Direct memory of one host, whose n-th allocation fails. Event loop of that host only. */
public final class FailingMemory {

    private static final long LIMIT = 1L << 30;

    private final MemorySource source = MemorySource.of(LIMIT);
    private final IntConsumer onFailure;
    private int left = -1;
    private int failures;
    private boolean isError;

    private final DirectMemoryBudget budget =
            new DirectMemoryBudget(
                    LIMIT,
                    new MemorySource() {
                        @Override
                        public ByteBuffer allocate(int bytes) {
                            failIfDue(bytes);
                            return source.allocate(bytes);
                        }

                        @Override
                        public void free(ByteBuffer memory) {
                            source.free(memory);
                        }
                    });

    /** @param onFailure is told of the bytes that an allocation has not got */
    public FailingMemory(IntConsumer onFailure) {
        this.onFailure = onFailure;
    }

    /** {@return the budget that fails} */
    public DirectMemoryBudget budget() {
        return budget;
    }

    /**
     * Lets allocations fail.
     *
     * @param after so many have succeeded
     * @param times how many fail
     * @param asError by an {@link OutOfMemoryError} of the JVM in the place of a refusal
     */
    public void fail(int after, int times, boolean asError) {
        left = after;
        failures = times;
        isError = asError;
    }

    /** Nothing fails any more. */
    public void recover() {
        failures = 0;
    }

    private void failIfDue(int bytes) {
        if (failures == 0 || left-- > 0) {
            return;
        }
        failures--;
        onFailure.accept(bytes);
        if (isError) {
            throw new OutOfMemoryError("no direct memory for " + bytes + " bytes, simulated");
        }
        throw LimitCheckedDirectMemoryAllocator.refused(bytes, "simulated");
    }
}
