// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.util.MemoryUtils;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Zeroed memory in native byte order with a known address, for C structures. Freed by the garbage collector. */
final class NativeMemory {

    final ByteBuffer bytes;
    private final long address;

    NativeMemory(int size) {
        bytes = ByteBuffer.allocateDirect(size).order(ByteOrder.nativeOrder());
        address = MemoryUtils.getAddress(bytes);
    }

    /** The address of the byte at an index. */
    long address(int index) {
        return address + index;
    }

    /** The index of the byte at an address. */
    int index(long byteAddress) {
        return (int) (byteAddress - address);
    }
}
