// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import io.netty.util.internal.PlatformDependent;
import java.nio.ByteBuffer;

/** The JVM's direct memory, which Netty frees at once by {@code sun.misc.Unsafe}. */
final class UnsafeMemorySource implements MemorySource {

    static final UnsafeMemorySource INSTANCE = new UnsafeMemorySource();

    private UnsafeMemorySource() {}

    @Override
    public ByteBuffer allocate(int bytes) {
        return LimitCheckedDirectMemoryAllocator.allocate(bytes, ByteBuffer::allocateDirect);
    }

    @Override
    public void free(ByteBuffer memory) {
        PlatformDependent.freeDirectBuffer(memory);
    }
}
