// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.netty.util.internal.PlatformDependent;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each source that this JVM has gives memory that serves every size again, and the count follows it. */
class DirectMemoryBudgetTest {

    private static final int MIB = 1 << 20;

    static Stream<DirectMemoryBudget> all() {
        long limit = 64 * MIB;
        Stream.Builder<DirectMemoryBudget> all = Stream.builder();
        all.add(new DirectMemoryBudget(limit, new SuballocatingMemorySource(limit)));
        if (PlatformDependent.hasUnsafe()) {
            all.add(new DirectMemoryBudget(limit, UnsafeMemorySource.INSTANCE));
        }
        if (SharedArenaDirectMemory.isSupported()) {
            all.add(new DirectMemoryBudget(limit, new ArenaMemorySource()));
        }
        return all.build();
    }

    /** The sum of it is ten times the limit. */
    @ParameterizedTest
    @MethodSource("all")
    void freedMemoryServesEverySize(DirectMemoryBudget memory) {
        for (int size = 4; size <= 32; size += 4) {
            ByteBuffer[] pieces = {memory.allocate(size * MIB), memory.allocate(MIB)};
            for (ByteBuffer piece : pieces) {
                fill(piece);
            }
            assertThat(memory.used()).isEqualTo((size + 1) * (long) MIB);
            for (ByteBuffer piece : pieces) {
                memory.free(piece);
            }
        }
        for (int size = 32; size > 0; size -= 4) {
            memory.free(memory.allocate(size * MIB));
        }
        assertThat(memory.used()).isZero();
    }

    @ParameterizedTest
    @MethodSource("all")
    void piecesAreZeroAndApart(DirectMemoryBudget memory) {
        Random random = new Random(7);
        List<ByteBuffer> pieces = new ArrayList<>();
        for (int i = 0; i < 2000; i++) {
            if (pieces.size() == 100) {
                memory.free(pieces.remove(random.nextInt(100)));
            }
            ByteBuffer piece = memory.allocate(random.nextInt(20_000));
            assertThat(piece.isDirect()).isTrue();
            assertThat(sum(piece)).isZero();
            fill(piece);
            pieces.add(piece);
        }
        pieces.forEach(
                piece -> {
                    assertThat(sum(piece)).isEqualTo(piece.capacity());
                    memory.free(piece);
                });
        assertThat(memory.used()).isZero();
    }

    @ParameterizedTest
    @MethodSource("all")
    void whatDoesNotFitIsRefusedAndNotCounted(DirectMemoryBudget memory) {
        ByteBuffer half = memory.allocate(32 * MIB);
        assertThatThrownBy(() -> memory.allocate(32 * MIB + 1))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("registeredMemoryLimit");
        assertThat(memory.used()).isEqualTo(32 * MIB);
        memory.free(half);
        assertThat(memory.used()).isZero();
    }

    /** The limit is not the JVM's: what the JVM refuses is given back to the count too. */
    @Test
    void whatTheJvmRefusesIsNotCounted() {
        // What is kept is garbage afterwards, and would be missed by other tests.
        assumeTrue(PlatformDependent.hasUnsafe() || SharedArenaDirectMemory.isSupported());
        DirectMemoryBudget memory = new DirectMemoryBudget(Long.MAX_VALUE / 2);
        List<ByteBuffer> taken = new ArrayList<>();
        assertThatThrownBy(
                        () -> {
                            for (; ; ) {
                                taken.add(memory.allocate(256 * MIB));
                            }
                        })
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("-XX:MaxDirectMemorySize");
        assertThat(memory.used()).isEqualTo(256L * MIB * taken.size());
        taken.forEach(memory::free);
        assertThat(memory.used()).isZero();
    }

    @Test
    void anErrorOfTheJvmIsARefusal() {
        DirectMemoryBudget memory =
                new DirectMemoryBudget(
                        MIB,
                        new MemorySource() {
                            @Override
                            public ByteBuffer allocate(int bytes) {
                                return LimitCheckedDirectMemoryAllocator.allocate(
                                        bytes,
                                        n -> {
                                            throw new OutOfMemoryError("none");
                                        });
                            }

                            @Override
                            public void free(ByteBuffer buffer) {
                                throw new AssertionError();
                            }
                        });
        assertThatThrownBy(() -> memory.allocate(1)).isInstanceOf(IllegalStateException.class);
        assertThat(memory.used()).isZero();
    }

    @Test
    void keptMemoryIsGivenOutOnce() {
        notLentTwice(new SuballocatingMemorySource(MIB));
    }

    @Test
    void arenasEndOnce() {
        assumeTrue(SharedArenaDirectMemory.isSupported());
        ArenaMemorySource source = new ArenaMemorySource();
        ByteBuffer memory = source.allocate(1);
        source.free(memory);
        assertThatThrownBy(() -> memory.get(0)).isInstanceOf(IllegalStateException.class);
        notLentTwice(source);
    }

    private static void notLentTwice(MemorySource source) {
        ByteBuffer memory = source.allocate(100);
        assertThatThrownBy(() -> source.free(memory.duplicate()))
                .isInstanceOf(IllegalArgumentException.class);
        source.free(memory);
        assertThatThrownBy(() -> source.free(memory)).isInstanceOf(IllegalArgumentException.class);
    }

    /** Small pieces that stay do not cut the room of a large one. */
    @Test
    void keptMemoryKeepsLargePiecesWhole() {
        SuballocatingMemorySource source = new SuballocatingMemorySource(64 * MIB);
        ByteBuffer large = source.allocate(40 * MIB);
        for (int i = 0; i < 16; i++) {
            source.allocate(MIB / 2);
        }
        source.free(large);
        for (int i = 0; i < 16; i++) {
            source.allocate(MIB / 2);
        }
        source.free(source.allocate(40 * MIB));
    }

    private static void fill(ByteBuffer piece) {
        byte[] ones = new byte[4096];
        Arrays.fill(ones, (byte) 1);
        for (int i = 0; i < piece.capacity(); i += ones.length) {
            piece.put(i, ones, 0, Math.min(ones.length, piece.capacity() - i));
        }
    }

    private static long sum(ByteBuffer piece) {
        byte[] bytes = new byte[piece.capacity()];
        piece.get(0, bytes);
        long sum = 0;
        for (byte b : bytes) {
            sum += b;
        }
        return sum;
    }
}
