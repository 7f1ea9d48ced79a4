// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import io.netty.util.internal.PlatformDependent;
import java.nio.ByteBuffer;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;

/** Registered memory of a {@link PolledEnd}; ends with its context. */
final class PolledMemory {

    private final ByteBuffer bytes;
    private final MemoryRegion region;

    PolledMemory(EventLoopVerbsContext context, int length) {
        bytes = ByteBuffer.allocateDirect(length);
        region = context.register(bytes, PlatformDependent.directBufferAddress(bytes));
    }

    ByteBuffer bytes() {
        return bytes;
    }

    ByteBuffer slice(int at, int length) {
        return bytes.slice(at, length);
    }

    long address(int at) {
        return region.address() + at;
    }

    int localKey() {
        return region.localKey();
    }

    void fill(int at, int length, byte value) {
        for (int i = at; i < at + length; i++) {
            bytes.put(i, value);
        }
    }

    /** Makes all of it reachable by the peer; returns the key. */
    int expose(QueuePair pair, int access) {
        return pair.expose(region, region.address(), region.length(), access);
    }
}
