// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.ToLongFunction;

/** Zeroed memory in native byte order with a known address, for C structures. Freed by the garbage collector. */
public final class NativeMemory {

    /** All of it. */
    public final ByteBuffer bytes;

    private final long address;

    /** @param addresses tells the address of the byte at the position of a direct buffer */
    NativeMemory(ToLongFunction<ByteBuffer> addresses, int size) {
        bytes = ByteBuffer.allocateDirect(size).order(ByteOrder.nativeOrder());
        address = addresses.applyAsLong(bytes);
    }

    /** The address of the byte at an index. */
    public long address(int index) {
        return address + index;
    }

    /** The index of the byte at an address. */
    public int index(long byteAddress) {
        return (int) (byteAddress - address);
    }
}
