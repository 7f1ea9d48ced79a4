// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;

/** Native memory by address. Addresses are unchecked: they must come from C, or from memory that is still held. */
final class CMemory {

    /** All of it: an address is the offset. */
    @SuppressWarnings("restricted")
    private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    private CMemory() {}

    static byte getByte(long address) {
        return ALL.get(ValueLayout.JAVA_BYTE, address);
    }

    static int getUnsignedByte(long address) {
        return getByte(address) & 0xff;
    }

    static short getShort(long address) {
        return ALL.get(ValueLayout.JAVA_SHORT_UNALIGNED, address);
    }

    static int getInt(long address) {
        return ALL.get(ValueLayout.JAVA_INT_UNALIGNED, address);
    }

    static long getLong(long address) {
        return ALL.get(ValueLayout.JAVA_LONG_UNALIGNED, address);
    }

    static void putByte(long address, int value) {
        ALL.set(ValueLayout.JAVA_BYTE, address, (byte) value);
    }

    static void putShort(long address, int value) {
        ALL.set(ValueLayout.JAVA_SHORT_UNALIGNED, address, (short) value);
    }

    static void putInt(long address, int value) {
        ALL.set(ValueLayout.JAVA_INT_UNALIGNED, address, value);
    }

    static void putLong(long address, long value) {
        ALL.set(ValueLayout.JAVA_LONG_UNALIGNED, address, value);
    }

    static byte[] getBytes(long address, int length) {
        return ALL.asSlice(address, length).toArray(ValueLayout.JAVA_BYTE);
    }

    static void putBytes(long address, byte[] bytes) {
        MemorySegment.copy(bytes, 0, ALL, ValueLayout.JAVA_BYTE, address, bytes.length);
    }

    static void clear(long address, long length) {
        ALL.asSlice(address, length).fill((byte) 0);
    }

    /** A string that ends with 0, or where its field ends. */
    static String getString(long address, int field) {
        byte[] bytes = getBytes(address, field);
        int length = 0;
        while (length < field && bytes[length] != 0) {
            length++;
        }
        return new String(bytes, 0, length, StandardCharsets.US_ASCII);
    }
}
