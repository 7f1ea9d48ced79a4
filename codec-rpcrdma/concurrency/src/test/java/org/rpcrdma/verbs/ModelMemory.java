// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import java.nio.ByteBuffer;

/** Memory that is only counted: all of it is the same. */
public final class ModelMemory implements MemorySource {

    private static final ByteBuffer MEMORY = ByteBuffer.allocateDirect(1 << 20);

    private ModelMemory() {}

    /** {@return a budget of so many bytes, allocated by at most 1 MiB at a time} */
    public static DirectMemoryBudget budget(long limit) {
        return new DirectMemoryBudget(limit, new ModelMemory());
    }

    @Override
    public ByteBuffer allocate(int bytes) {
        return MEMORY.duplicate().limit(bytes);
    }

    @Override
    public void free(ByteBuffer memory) {}
}
