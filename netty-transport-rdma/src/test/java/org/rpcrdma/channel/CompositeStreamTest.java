// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.NeedsDevice;

/** Composite buffers on a byte stream, of any components. */
@NeedsDevice("privateDataOnAccept")
class CompositeStreamTest {

    private static final int[] LENGTHS = {
        0, 1, 255, 256, 4096, 16383, 16384, 16385, 65536, 300_000
    };

    /** Neither the composite buffer nor a slice of it says that its memory is read-only. */
    @Test
    void hiddenReadOnlyMemoryIsCopied() throws Exception {
        byte[] bytes = new byte[100_000];
        new Random(1).nextBytes(bytes);
        try (StreamPair pair = new StreamPair()) {
            ByteBuf whole =
                    Unpooled.compositeBuffer()
                            .addComponent(true, direct(bytes, 0, bytes.length).asReadOnly());
            pair.client.writeAndFlush(whole.slice()).sync();
            pair.serverSide.awaitBytes(bytes);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void anyComponentsArriveAsTheyAre(long seed) throws Exception {
        Random random = new Random(seed);
        try (StreamPair pair = new StreamPair()) {
            ByteBuf expected = Unpooled.buffer();
            for (int i = 0; i < 11; i++) {
                pair.client.write(composite(random, expected, 2));
            }
            pair.client.writeAndFlush(composite(random, expected, 2)).sync();
            byte[] bytes = new byte[expected.readableBytes()];
            expected.readBytes(bytes);
            pair.serverSide.awaitBytes(bytes);
        }
    }

    private static CompositeByteBuf composite(Random random, ByteBuf expected, int depth) {
        CompositeByteBuf whole = Unpooled.compositeBuffer();
        for (int i = random.nextInt(5); i >= 0; i--) {
            if (depth > 0 && random.nextInt(4) == 0) {
                whole.addComponent(true, composite(random, expected, depth - 1));
                continue;
            }
            byte[] bytes = new byte[LENGTHS[random.nextInt(LENGTHS.length)]];
            random.nextBytes(bytes);
            expected.writeBytes(bytes);
            whole.addComponent(true, component(random, bytes));
        }
        return whole;
    }

    private static ByteBuf component(Random random, byte[] bytes) {
        return switch (random.nextInt(4)) {
            case 0 -> Unpooled.wrappedBuffer(bytes);
            case 1 -> direct(bytes, 0, bytes.length).asReadOnly();
            case 2 -> {
                ByteBuf longer =
                        Unpooled.directBuffer().writeZero(100).writeBytes(bytes).writeZero(9);
                yield longer.slice(100, bytes.length);
            }
            default -> direct(bytes, 0, bytes.length);
        };
    }

    private static ByteBuf direct(byte[] bytes, int start, int length) {
        return Unpooled.directBuffer().writeBytes(bytes, start, length);
    }
}
