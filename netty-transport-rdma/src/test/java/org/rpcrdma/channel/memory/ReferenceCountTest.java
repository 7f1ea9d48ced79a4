// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.util.IllegalReferenceCountException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.channel.Rdma;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.EventLoopVerbsContext;

/** References of registered buffers: as those of Netty's own buffers. */
class ReferenceCountTest {

    private EventLoopVerbsContext context;
    private RegisteredBufferPool pool;

    @BeforeEach
    void open() throws IOException {
        context = Rdma.provider().open();
        pool =
                new RegisteredBufferPool(
                        context,
                        DirectMemoryBudget.jvm(),
                        () -> true,
                        () -> {},
                        (bytes, why) -> {});
    }

    @AfterEach
    void close() {
        assertThat(pool.lentBytes()).isZero();
        pool.close();
        context.close();
    }

    @Test
    void theLastOfSeveralReferencesGivesTheMemoryBack() {
        ByteBuf buffer = pool.take(100);
        assertThat(buffer.retain().retain(3).refCnt()).isEqualTo(5);
        assertThat(buffer.release()).isFalse();
        assertThat(buffer.release(3)).isFalse();
        assertThat(buffer.refCnt()).isOne();
        assertThat(pool.lentBytes()).isPositive();
        assertThat(buffer.release()).isTrue();
    }

    @Test
    void severalReferencesAreReleasedAtOnce() {
        assertThat(pool.take(100).retain(2).release(3)).isTrue();
    }

    @Test
    void moreThanAllReferencesAreNotReleased() {
        ByteBuf buffer = pool.take(100).retain();
        assertThatThrownBy(() -> buffer.release(3))
                .isInstanceOf(IllegalReferenceCountException.class);
        assertThat(buffer.release(2)).isTrue();
        assertThatThrownBy(buffer::release).isInstanceOf(IllegalReferenceCountException.class);
    }

    @Test
    void aReleasedBufferIsNotRetained() {
        ByteBuf buffer = pool.take(100);
        buffer.release();
        assertThatThrownBy(buffer::retain).isInstanceOf(IllegalReferenceCountException.class);
        assertThatThrownBy(() -> buffer.retain(2))
                .isInstanceOf(IllegalReferenceCountException.class);
        assertThat(buffer.refCnt()).isZero();
    }

    @Test
    void amountsAreAboveZeroAndDoNotOverflow() {
        ByteBuf buffer = pool.take(100);
        for (int amount : new int[] {0, -1, Integer.MIN_VALUE}) {
            assertThatThrownBy(() -> buffer.retain(amount))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> buffer.release(amount))
                    .isInstanceOf(IllegalArgumentException.class);
        }
        assertThatThrownBy(() -> buffer.retain(Integer.MAX_VALUE))
                .isInstanceOf(IllegalReferenceCountException.class);
        assertThat(buffer.refCnt()).isOne();
        buffer.release();
    }

    @Test
    void threadsThatRetainAndReleaseLoseNoReference() throws Exception {
        int threads = 4;
        ByteBuf buffer = pool.take(100).retain(threads);
        CyclicBarrier start = new CyclicBarrier(threads);
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        try {
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                all.add(
                        executor.submit(
                                () -> {
                                    start.await();
                                    for (int j = 0; j < 10_000; j++) {
                                        buffer.retain(2);
                                        assertThat(buffer.release(2)).isFalse();
                                    }
                                    return buffer.release();
                                }));
            }
            for (Future<?> each : all) {
                assertThat(each.get()).isEqualTo(false);
            }
        } finally {
            executor.shutdown();
        }
        assertThat(buffer.refCnt()).isOne();
        assertThat(buffer.release()).isTrue();
    }
}
