// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/** Memory of one message that the peer can reach, until it is fenced. Used again for later messages. */
final class ExposedMemory {

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

    /** Memory that nobody else owns: it is released when it was fenced. */
    void own(ByteBuf buffer) {
        if (memoryCount == memory.length) {
            memory = Arrays.copyOf(memory, memoryCount << 1);
        }
        memory[memoryCount++] = buffer;
    }

    /**
     * Takes the memory out of the peer's reach, then lets go of it (RFC 8166, 4.4.1). When a region cannot be
     * invalidated the connection is closed before anything else happens (4.5.4).
     */
    void fence(ConnectionContext link) {
        for (int i = 0; i < handleCount; i++) {
            link.invalidate(handles[i]);
        }
        clear();
    }

    /** Lets go of the memory; the peer does not know of it, or cannot reach it any more. */
    void clear() {
        handleCount = 0;
        for (int i = 0; i < memoryCount; i++) {
            memory[i].release();
            memory[i] = null;
        }
        memoryCount = 0;
    }
}
