// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.channel.memory.RegisteredBufferPool;
import org.rpcrdma.stream.StreamProtocolException;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.ReceiveMemoryRange;
import org.rpcrdma.verbs.iwarp.memory.IwarpMemoryRegion;

/** Pieces of memory for what a peer writes, without a peer. */
@NeedsDevice("exposesWithoutMemory")
class StreamReceiveMemoryAllocatedAtWriteTest {

    private static final int MOST = 252 << 10;

    private EventLoopVerbsContext context;
    private RegisteredBufferPool pool;
    private StreamReceiveMemoryAllocatedAtWrite memory;
    private int keys;

    /** Buffers that are exposed and not full: key and length. */
    private final ArrayDeque<int[]> buffers = new ArrayDeque<>();

    /** Where the next byte goes in the first of them. */
    private int start;

    /** How much of the first of them was announced. */
    private int announced;

    private final ArrayDeque<Integer> announcedBuffers = new ArrayDeque<>();

    @BeforeEach
    void begin() throws IOException {
        begin(64 << 20);
    }

    private void begin(int budget) throws IOException {
        context = Rdma.provider().open();
        pool =
                new RegisteredBufferPool(
                        context,
                        new DirectMemoryBudget(budget),
                        () -> true,
                        () -> {},
                        (bytes, why) -> {});
        QueuePair device =
                (QueuePair)
                        Proxy.newProxyInstance(
                                QueuePair.class.getClassLoader(),
                                new Class<?>[] {QueuePair.class},
                                (proxy, method, arguments) -> ++keys);
        memory =
                new StreamReceiveMemoryAllocatedAtWrite(
                        pool, new ChannelMemoryExposures(device, null, true), MOST);
        expose();
    }

    @AfterEach
    void end() {
        memory.release();
        assertThat(pool.lentBytes()).isZero();
        pool.close();
        context.close();
    }

    private void expose() {
        int length = memory.length();
        buffers.add(new int[] {memory.expose(), length});
        announcedBuffers.add(length);
    }

    private int room() {
        return buffers.isEmpty() ? 0 : buffers.element()[1] - start;
    }

    /** A segment arrives, whose bytes go on counting. */
    private void arrive(int length, int first) {
        ReceiveMemoryRange place = memory.forWrite(buffers.element()[0], start, length);
        assertThat(place.length()).isGreaterThanOrEqualTo(length);
        for (int i = 0; i < length; i++) {
            int index = (int) (place.address() - place.region().address()) + i;
            put(place, index, (byte) (first + i));
        }
        start += length;
        if (room() == 0) {
            buffers.remove();
            start = 0;
        }
    }

    private static void put(ReceiveMemoryRange place, int index, byte value) {
        ((IwarpMemoryRegion) place.region()).memory.put(index, value);
    }

    private void announce(int bytes) throws StreamProtocolException {
        memory.received(bytes);
        announced += bytes;
        if (announced == announcedBuffers.element()) {
            memory.filled(announcedBuffers.remove());
            announced = 0;
        }
    }

    @Test
    void bytesAreUnannouncedUntilAMessageTellsOfThem() throws Exception {
        assertThat(memory.unannounced()).isNegative();
        arrive(100, 0);
        long written = memory.unannounced();
        assertThat(written).isNotNegative();
        announce(60);
        assertThat(memory.unannounced()).isNotNegative().isNotEqualTo(written);
        announce(40);
        assertThat(memory.unannounced()).isNegative();
        arrive(20 << 10, 0);
        arrive(20 << 10, 0);
        announce(30 << 10);
        assertThat(memory.unannounced()).isNotNegative();
        announce(10 << 10);
        assertThat(memory.unannounced()).isNegative();
    }

    /** Segments, messages and reads of all sizes and in any order: what comes out is what went in, in order. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
    void whatIsReadIsWhatHasArrived(int seed) throws Exception {
        Random random = new Random(seed);
        int mostSegment = 1 << (4 + random.nextInt(13));
        int written = 0;
        int told = 0;
        int read = 0;
        List<ByteBuf> kept = new ArrayList<>();
        for (int i = 0; i < 2_000; i++) {
            switch (random.nextInt(6)) {
                case 0, 1 -> {
                    if (room() > 0) {
                        int length = Math.min(room(), 1 + random.nextInt(mostSegment));
                        arrive(length, written);
                        written += length;
                    }
                }
                case 2 -> {
                    // Never beyond the end of a buffer.
                    int most =
                            announcedBuffers.isEmpty() ? 0 : announcedBuffers.element() - announced;
                    int bytes = Math.min(most, written - told);
                    if (bytes > 0) {
                        bytes = random.nextBoolean() ? bytes : 1 + random.nextInt(bytes);
                        announce(bytes);
                        told += bytes;
                    }
                }
                case 3, 4 -> {
                    assertThat(memory.isReadable()).isEqualTo(told > read);
                    if (told > read) {
                        ByteBuf bytes = memory.read(2000, UnpooledByteBufAllocator.DEFAULT);
                        kept.add(bytes);
                        for (int j = 0; j < bytes.readableBytes(); j++) {
                            assertThat(bytes.getByte(j)).isEqualTo((byte) (read + j));
                        }
                        read += bytes.readableBytes();
                    } else {
                        memory.rest();
                    }
                }
                default -> {
                    if (random.nextInt(4) == 0) {
                        memory.rest();
                    }
                }
            }
            while (announcedBuffers.size() < PublishedStreamReceiveBuffers.BUFFERS) {
                expose();
            }
            if (kept.size() > 20) {
                kept.remove(random.nextInt(kept.size())).release();
            }
            if (read == written) {
                memory.rest();
                kept.forEach(ByteBuf::release);
                kept.clear();
                assertThat(pool.lentBytes()).isZero();
            }
        }
        assertThat(read).isPositive();
        kept.forEach(ByteBuf::release);
    }

    @Test
    void whatWasNotWrittenIsNotAnnounced() throws Exception {
        assertThatThrownBy(() -> memory.received(1))
                .isInstanceOf(StreamProtocolException.class)
                .hasMessage("The peer announces 1 bytes of data, and has written 0 of them");
        arrive(10, 0);
        announce(4);
        assertThatThrownBy(() -> memory.received(7))
                .hasMessage("The peer announces 7 bytes of data, and has written 6 of them");
    }

    @Test
    void buffersAreFilledOneAfterTheOther() {
        expose();
        int second = keys;
        assertThatThrownBy(() -> memory.forWrite(second, 0, 1))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("before the one before it is full");
    }

    /** Messages that nobody reads cost little more than their bytes. */
    @Test
    void manyShortMessagesShareAPiece() throws Exception {
        int bytes = 0;
        while (room() > 0) {
            arrive(1, bytes++);
            announce(1);
            memory.rest();
        }
        assertThat(bytes).isGreaterThan(60_000);
        assertThat(pool.lentBytes()).isLessThan(2L * bytes);
    }

    /** The device asks again and again while there is no memory. */
    @Test
    void aPieceThatWaitsForMemoryDoesNotGrowMeanwhile() throws Exception {
        end();
        buffers.clear();
        announcedBuffers.clear();
        begin(1 << 20);
        int most = StreamReceiveMemoryAllocatedAtWrite.LEAST_PIECE;
        arrive(most, 0);
        final long before = pool.lentBytes();
        List<ByteBuf> all = new ArrayList<>();
        int size = 1 << 16;
        while (size >= 16) {
            try {
                all.add(pool.registered(size));
            } catch (IllegalStateException e) {
                size >>= 1;
            }
        }
        for (int i = 0; i < 10; i++) {
            assertThat(memory.forWrite(buffers.element()[0], start, 100)).isNull();
        }
        all.forEach(ByteBuf::release);
        assertThat(pool.lentBytes()).isEqualTo(before);
        arrive(100, 0);
        assertThat(pool.lentBytes() - before).isBetween(100L, 3L * most);
    }

    @Test
    void whatNobodyWantsTakesNoMemory() throws Exception {
        for (int i = 0; i < 10; i++) {
            arrive(5000, 0);
        }
        announce(50_000);
        assertThat(memory.discard()).isEqualTo(50_000);
        assertThat(pool.lentBytes()).isZero();
    }
}
