// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.nio.ByteBuffer;
import org.rpcrdma.verbs.MemoryRegion;

/**
 * Memory that is allocated, registered and freed in one piece.
 *
 * @param memory for absolute access only; its position and limit stay as they are
 * @param address the native address of the first byte, 0 where the JVM does not tell
 */
record Slab(ByteBuffer memory, long address, MemoryRegion region) {

    int size() {
        return memory.capacity();
    }
}
