// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;

/** Data of which each byte follows from a number, which is in the first eight. */
final class ImpairedData {

    private ImpairedData() {}

    /** @param length at least 8 */
    static byte[] data(long number, int length) {
        byte[] data = new byte[length];
        new Random(number).nextBytes(data);
        ByteBuffer.wrap(data).putLong(number);
        return data;
    }

    static long number(byte[] data) {
        return ByteBuffer.wrap(data).getLong();
    }

    static boolean isRight(byte[] data, long number, int length) {
        return Arrays.equals(data, data(number, length));
    }
}
