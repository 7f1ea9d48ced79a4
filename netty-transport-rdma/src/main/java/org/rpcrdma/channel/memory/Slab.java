// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.memory;

import java.nio.ByteBuffer;
import org.rpcrdma.verbs.MemoryRegion;

/** Memory that is allocated, registered and freed in one piece. */
final class Slab {

    final ByteBuffer memory;
    final long address;
    final MemoryRegion region;

    /** The address of the first byte in work requests. */
    final long registered;

    /** In bytes. */
    final int size;

    /** The first block, which covers the whole slab when all blocks are coalesced. */
    SlabBlock first;

    /** Number of buffers with a block of this slab. */
    int lent;

    /**
     * @param memory for absolute access only; its position and limit never change
     * @param address the native address of the first byte, 0 if the JVM does not expose it
     */
    Slab(ByteBuffer memory, long address, MemoryRegion region) {
        this.memory = memory;
        this.address = address;
        this.region = region;
        registered = region.address();
        size = memory.capacity();
    }
}
