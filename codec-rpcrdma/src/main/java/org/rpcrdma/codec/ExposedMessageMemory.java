// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/** Memory of one message that is exposed to the peer until its handles are invalidated. Reused for later messages. */
final class ExposedMessageMemory {

    private int[] handles = new int[2];
    private int handleCount;
    private ByteBuf[] memory = new ByteBuf[2];
    private int memoryCount;

    void add(int handle) {
        if (handleCount == handles.length) {
            handles = Arrays.copyOf(handles, handleCount << 1);
        }
        handles[handleCount++] = handle;
    }

    /** Takes over memory; it is released after invalidation. */
    void own(ByteBuf buffer) {
        if (memoryCount == memory.length) {
            memory = Arrays.copyOf(memory, memoryCount << 1);
        }
        memory[memoryCount++] = buffer;
    }

    /**
     * Invalidates all handles, then releases the memory (RFC 8166, 4.4.1). If an invalidation fails, closes the
     * connection first (4.5.4).
     */
    void fence(ConnectionSharedState link) {
        for (int i = 0; i < handleCount; i++) {
            link.invalidate(handles[i]);
        }
        clear();
    }

    /** Releases the memory, which the peer cannot access: never advertised, invalidated, or connection closed. */
    void clear() {
        handleCount = 0;
        for (int i = 0; i < memoryCount; i++) {
            memory[i].release();
            memory[i] = null;
        }
        memoryCount = 0;
    }
}
