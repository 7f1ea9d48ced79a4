// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.memory;

import java.nio.ByteBuffer;
import org.rpcrdma.verbs.MemoryRegion;

/** Memory that is allocated, registered and freed in one piece. */
final class Slab {

    private final ByteBuffer memory;
    private final long address;
    private final MemoryRegion region;

    /** The block that begins where the slab does: all of the slab when the others are joined with it. */
    SlabBlock first;

    /** Buffers that have a block of this. */
    int lent;

    /**
     * @param memory for absolute access only; its position and limit stay as they are
     * @param address the native address of the first byte, 0 where the JVM does not tell
     */
    Slab(ByteBuffer memory, long address, MemoryRegion region) {
        this.memory = memory;
        this.address = address;
        this.region = region;
    }

    ByteBuffer memory() {
        return memory;
    }

    long address() {
        return address;
    }

    MemoryRegion region() {
        return region;
    }

    /** In bytes. */
    int size() {
        return memory.capacity();
    }
}
