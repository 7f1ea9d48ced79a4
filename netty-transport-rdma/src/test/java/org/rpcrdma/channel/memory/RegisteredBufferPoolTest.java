// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.util.ResourceLeakDetector;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.rpcrdma.channel.Rdma;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.disni.software.SoftwareDisniProvider;
import org.rpcrdma.verbs.disni.software.SoftwareRdmaProvider;

class RegisteredBufferPoolTest {

    private static final int MIB = 1 << 20;

    private interface Body {
        void run(RegisteredBufferPool pool, DirectMemoryBudget budget) throws Exception;
    }

    /** A pool of the device under test that has so many bytes; all are back when it ends. */
    private static void within(long limit, Body body) throws Exception {
        DirectMemoryBudget budget = new DirectMemoryBudget(limit);
        try (EventLoopVerbsContext context = Rdma.provider().open()) {
            RegisteredBufferPool pool =
                    new RegisteredBufferPool(
                            context, budget, () -> true, () -> {}, (bytes, why) -> {});
            try {
                body.run(pool, budget);
                assertThat(pool.lentBytes()).isZero();
                assertThat(pool.bytes()).isEqualTo(pool.spareBytes());
            } finally {
                pool.close();
            }
            assertThat(budget.used()).isZero();
        }
    }

    private static void releaseAll(List<? extends ByteBuf> buffers) {
        buffers.forEach(ByteBuf::release);
        buffers.clear();
    }

    /** Takes buffers of that capacity until there is no memory for one more. */
    private static List<ByteBuf> fill(RegisteredBufferPool pool, int capacity) {
        List<ByteBuf> buffers = new ArrayList<>();
        for (; ; ) {
            try {
                buffers.add(pool.registered(capacity));
            } catch (IllegalStateException e) {
                assertThat(e).hasMessageContaining("registeredMemoryLimit");
                return buffers;
            }
        }
    }

    /** A record of a buffer costs more than the buffer; who looks for leaks sees all of them. */
    @Test
    void whatIsSentIsWatchedWhereAllBuffersAre() throws Exception {
        ResourceLeakDetector.Level level = ResourceLeakDetector.getLevel();
        within(
                MIB,
                (pool, budget) -> {
                    try {
                        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.SIMPLE);
                        ByteBuf plain = pool.toSend(100);
                        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.PARANOID);
                        ByteBuf watched = pool.toSend(100);
                        assertThat(plain).isInstanceOf(RegisteredByteBuf.class);
                        assertThat(watched).isNotInstanceOf(RegisteredByteBuf.class);
                        assertThat(plain.capacity()).isEqualTo(watched.capacity()).isEqualTo(100);
                        plain.release();
                        watched.release();
                    } finally {
                        ResourceLeakDetector.setLevel(level);
                    }
                });
    }

    /** The budget lets one slab stay: that of a loop with little to do, whether it is used at the moment or not. */
    @Test
    void aLoopThatIsBusyLeavesItsSpareMemoryToOthers() throws Exception {
        DirectMemoryBudget budget = new DirectMemoryBudget(16 * MIB);
        try (EventLoopVerbsContext context = Rdma.provider().open()) {
            RegisteredBufferPool idle =
                    new RegisteredBufferPool(
                            context, budget, () -> true, () -> {}, (bytes, why) -> {});
            RegisteredBufferPool other =
                    new RegisteredBufferPool(
                            context, budget, () -> true, () -> {}, (bytes, why) -> {});
            idle.take(100).release();
            assertThat(idle.bytes()).isEqualTo(MIB);
            RegisteredByteBuf little = idle.take(100);
            other.take(100).release();
            assertThat(other.bytes()).isZero();
            RegisteredByteBuf much = idle.take(MIB / 2);
            other.take(100).release();
            assertThat(other.bytes()).isEqualTo(MIB);
            little.release();
            much.release();
            assertThat(idle.bytes()).isZero();
            other.close();
            idle.take(100).release();
            assertThat(idle.bytes()).isEqualTo(MIB);
            idle.close();
            assertThat(budget.used()).isZero();
        }
    }

    @Test
    void memoryThatTheDeviceRefusesIsNotKept() throws IOException {
        SoftwareRdmaProvider device = SoftwareRdmaProvider.install();
        DirectMemoryBudget budget = new DirectMemoryBudget(4 * MIB);
        try (EventLoopVerbsContext context = new SoftwareDisniProvider().open()) {
            RegisteredBufferPool pool =
                    new RegisteredBufferPool(
                            context, budget, () -> true, () -> {}, (bytes, why) -> {});
            device.limitMemory(device.registeredBytes());
            assertThatThrownBy(() -> pool.take(100))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("RLIMIT_MEMLOCK");
            assertThat(pool.bytes()).isZero();
            assertThat(budget.used()).isZero();
            device.limitMemory(Long.MAX_VALUE);
            pool.take(100).release();
            pool.close();
            assertThat(budget.used()).isZero();
        } finally {
            device.limitMemory(Long.MAX_VALUE);
        }
    }

    /** What silent start-ups had taken for their receives served nobody else until the end of the process. */
    @Test
    void memoryThatWasUsedInOneSizeServesEveryOther() throws Exception {
        within(
                8 * MIB,
                (pool, budget) -> {
                    for (int capacity :
                            new int[] {4096, 200_000, 300_000, 850_000, 700_000, 2048, 8 * MIB}) {
                        List<ByteBuf> buffers = fill(pool, capacity);
                        int perSlab = MIB / FreeBlockLists.size(capacity);
                        assertThat(buffers).hasSize(perSlab == 0 ? 1 : 8 * perSlab);
                        Collections.shuffle(buffers, new Random(capacity));
                        releaseAll(buffers);
                    }
                });
    }

    @Test
    void aSlabOfWhichNothingIsLentIsGivenBack() throws Exception {
        within(
                16 * MIB,
                (pool, budget) -> {
                    List<ByteBuf> buffers = fill(pool, 1000);
                    assertThat(budget.used()).isEqualTo(16 * MIB);
                    // One of each slab: nothing can be given back.
                    List<ByteBuf> kept = new ArrayList<>();
                    for (int i = buffers.size() - 1; i >= 0; i -= MIB / 1024) {
                        kept.add(buffers.remove(i));
                    }
                    releaseAll(buffers);
                    assertThat(budget.used()).isEqualTo(16 * MIB);
                    releaseAll(kept);
                    assertThat(budget.used()).isLessThanOrEqualTo(16 * MIB / 8);
                });
    }

    @Test
    void oneLoopHasTheBudgetThatTheOtherDoesNotUse() throws Exception {
        within(
                8 * MIB,
                (pool, budget) -> {
                    try (EventLoopVerbsContext context = Rdma.provider().open()) {
                        RegisteredBufferPool other =
                                new RegisteredBufferPool(
                                        context, budget, () -> true, () -> {}, (bytes, why) -> {});
                        List<ByteBuf> buffers = fill(pool, 4096);
                        assertThatThrownBy(() -> other.take(1))
                                .isInstanceOf(IllegalStateException.class)
                                .hasMessageContaining("8388608 of 8388608 are taken");
                        releaseAll(buffers);
                        List<ByteBuf> others = fill(other, 4096);
                        assertThat(others).hasSizeGreaterThanOrEqualTo(7 * MIB / 4096);
                        releaseAll(others);
                        other.close();
                    }
                });
    }

    @Test
    void whatIsReleasedAfterTheEndIsFreedThen() throws Exception {
        DirectMemoryBudget budget = new DirectMemoryBudget(4 * MIB);
        try (EventLoopVerbsContext context = Rdma.provider().open()) {
            RegisteredBufferPool pool =
                    new RegisteredBufferPool(
                            context, budget, () -> true, () -> {}, (bytes, why) -> {});
            ByteBuf first = pool.registered(1000).writeInt(1);
            ByteBuf second = pool.registered(2 * MIB).writeInt(2);
            pool.close();
            assertThat(budget.used()).isEqualTo(3 * MIB);
            assertThat(first.readInt()).isEqualTo(1);
            first.release();
            assertThat(budget.used()).isEqualTo(2 * MIB);
            Thread thread = new Thread(second::release);
            thread.start();
            thread.join();
            assertThat(budget.used()).isZero();
        }
    }

    @Test
    void newMemoryHasNothingInIt() throws Exception {
        within(
                4 * MIB,
                (pool, budget) -> {
                    ByteBuf buffer = pool.registered(2 * MIB).writerIndex(2 * MIB);
                    assertThat(buffer.forEachByte(value -> value == 0)).isEqualTo(-1);
                    buffer.release();
                });
    }

    /** A message that turned out to be short leaves the rest of its memory to others, at once. */
    @Test
    void whatABufferDoesNotNeedServesOthers() throws Exception {
        within(
                MIB,
                (pool, budget) -> {
                    RegisteredByteBuf kept = pool.take(MIB);
                    kept.setInt(0, 7);
                    pool.trim(kept, 4);
                    assertThat(kept.capacity()).isEqualTo(4);
                    assertThat(pool.lentBytes()).isEqualTo(FreeBlockLists.UNIT);
                    RegisteredByteBuf other = pool.take(MIB - 200_000);
                    pool.trim(other, 500_000);
                    List<ByteBuf> rest = fill(pool, 50_000);
                    assertThat(rest).hasSizeGreaterThan(8);
                    // What is not worth it stays.
                    int lent = (int) pool.lentBytes();
                    pool.trim(other, 499_000);
                    assertThat(pool.lentBytes()).isEqualTo(lent);
                    assertThat(other.capacity()).isEqualTo(500_000);
                    rest.forEach(buffer -> buffer.setZero(0, buffer.capacity()));
                    other.setZero(0, other.capacity());
                    assertThat(kept.getInt(0)).isEqualTo(7);
                    other.release();
                    releaseAll(rest);
                    kept.release();
                });
    }

    /** Takes, trims and releases at random; buffers never overlap, and all memory is one piece in the end. */
    @Property(tries = 200)
    void buffersNeverOverlap(@ForAll Random random) throws Exception {
        within(
                8 * MIB,
                (pool, budget) -> {
                    List<ByteBuf> buffers = new ArrayList<>();
                    for (int i = 0; i < 300; i++) {
                        if (buffers.isEmpty() || random.nextInt(5) < 3) {
                            int capacity = 8 + random.nextInt(1 << random.nextInt(18));
                            try {
                                RegisteredByteBuf memory = pool.take(capacity);
                                if (random.nextInt(4) == 0) {
                                    pool.trim(memory, 8 + random.nextInt(capacity - 7));
                                }
                                ByteBuf buffer = RegisteredBufferPool.watched(memory);
                                buffer.setInt(0, i).setInt(buffer.capacity() - 4, i);
                                buffers.add(buffer);
                            } catch (IllegalStateException e) {
                                assertThat(e).hasMessageContaining("registeredMemoryLimit");
                            }
                        } else {
                            ByteBuf buffer = buffers.remove(random.nextInt(buffers.size()));
                            assertThat(buffer.getInt(0))
                                    .isEqualTo(buffer.getInt(buffer.capacity() - 4));
                            buffer.release();
                        }
                    }
                    for (ByteBuf buffer : buffers) {
                        assertThat(buffer.getInt(0))
                                .isEqualTo(buffer.getInt(buffer.capacity() - 4));
                    }
                    releaseAll(buffers);
                });
    }

    @Property
    void aBlockIsAtMostAnEighthTooLarge(@ForAll @IntRange(max = 1 << 30) int capacity) {
        int size = FreeBlockLists.size(capacity);
        assertThat(size).isGreaterThanOrEqualTo(capacity);
        assertThat(size % FreeBlockLists.UNIT).isZero();
        if (capacity > 2048) {
            assertThat((double) size / capacity).isLessThanOrEqualTo(1.126);
        }
    }

    /** A block of the size for a capacity is found by that capacity, and by no larger one. */
    @Property
    void whatComesBackIsFoundAgain(@ForAll @IntRange(max = 1 << 30) int capacity) {
        FreeBlockLists free = new FreeBlockLists();
        SlabBlock block = new SlabBlock();
        block.size = FreeBlockLists.size(capacity);
        free.add(block);
        if (block.size < 1 << 30) {
            assertThat(free.poll(FreeBlockLists.size(block.size + 1))).isNull();
        }
        assertThat(free.poll(FreeBlockLists.size(capacity))).isSameAs(block);
        assertThat(free.poll(FreeBlockLists.UNIT)).isNull();
    }

    @Test
    void directMemoryRefusesAtOnce() {
        DirectMemoryBudget memory = new DirectMemoryBudget(1000);
        ByteBuffer first = memory.allocate(600);
        assertThatThrownBy(() -> memory.allocate(401))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage(
                        "no direct memory for 401 bytes more: 600 of 1000 are taken; close"
                                + " connections, or raise -Dorg.rpcrdma.registeredMemoryLimit");
        ByteBuffer second = memory.allocate(400);
        memory.free(first);
        assertThat(memory.used()).isEqualTo(400);
        memory.free(second);
    }
}
