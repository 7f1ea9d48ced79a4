// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.stream;

import io.netty.buffer.ByteBuf;
import java.lang.invoke.VarHandle;

/**
 * Address of a receive buffer: an entry of a target SGL, 16 bytes. This end reads its own table in little-endian
 * order.
 *
 * @param offset of the first byte, unsigned
 * @param key of the memory
 * @param length in bytes, 0 to 2<sup>32</sup> − 1; 0 says that there is none
 */
public record ReceiveBufferAddress(long offset, int key, long length) {

    /** The length of an entry in bytes. */
    public static final int BYTES = 16;

    private static final int KEY = 8;
    private static final int LENGTH = 12;

    /** Puts an entry at an index, in little-endian order; no index of the buffer moves. */
    public static void put(ByteBuf buffer, int index, long offset, int key, int length) {
        buffer.setLongLE(index, offset);
        buffer.setIntLE(index + KEY, key);
        buffer.setIntLE(index + LENGTH, length);
    }

    /** As {@link #put}, for the table of a peer that {@linkplain StreamPrivateData#bigEndianTable() reads it so}. */
    public static void putBigEndian(ByteBuf buffer, int index, long offset, int key, int length) {
        buffer.setLong(index, offset);
        buffer.setInt(index + KEY, key);
        buffer.setInt(index + LENGTH, length);
    }

    /**
     * Reads an entry that the device may be writing. Devices write a range upwards: the length comes last.
     *
     * @return the entry, or {@code null} if there is none
     */
    static ReceiveBufferAddress get(ByteBuf buffer, int index) {
        long length = buffer.getUnsignedIntLE(index + LENGTH);
        if (length == 0) {
            return null;
        }
        VarHandle.acquireFence(); // the other fields belong to this length
        return new ReceiveBufferAddress(
                buffer.getLongLE(index), buffer.getIntLE(index + KEY), length);
    }

    static void clear(ByteBuf buffer, int index) {
        buffer.setIntLE(index + LENGTH, 0);
    }
}
