// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.memory;

import java.nio.ByteBuffer;
import java.security.SecureRandom;

/** Buffer of unpredictable numbers, generated in blocks to reduce the cost of each. */
final class RandomNumberBuffer {

    private final SecureRandom random = new SecureRandom();
    private final byte[] block = new byte[1024];
    private final ByteBuffer numbers = ByteBuffer.wrap(block).limit(0);

    int nextInt() {
        if (!numbers.hasRemaining()) {
            random.nextBytes(block);
            numbers.clear();
        }
        return numbers.getInt();
    }
}
