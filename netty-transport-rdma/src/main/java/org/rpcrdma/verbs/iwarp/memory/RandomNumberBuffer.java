// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.memory;

import java.nio.ByteBuffer;
import java.util.Random;
import java.util.function.Supplier;

/**
 * Buffer of unpredictable numbers, generated in blocks to reduce the cost of each. The generator is made for the first:
 * to find it among the security providers takes a new process as long as to connect.
 */
final class RandomNumberBuffer {

    private final byte[] block = new byte[1024];
    private final ByteBuffer numbers = ByteBuffer.wrap(block).limit(0);

    private final Supplier<Random> generators;

    /** {@code null} before the first number. */
    private Random random;

    RandomNumberBuffer(Supplier<Random> generators) {
        this.generators = generators;
    }

    int nextInt() {
        refill();
        return numbers.getInt();
    }

    long nextLong() {
        return ((long) nextInt() << Integer.SIZE) | Integer.toUnsignedLong(nextInt());
    }

    private void refill() {
        if (numbers.hasRemaining()) {
            return;
        }
        if (random == null) {
            random = generators.get();
        }
        random.nextBytes(block);
        numbers.clear();
    }
}
