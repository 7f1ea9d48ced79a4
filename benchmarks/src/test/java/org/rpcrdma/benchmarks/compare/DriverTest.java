// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.benchmarks.Transport;
import org.rpcrdma.benchmarks.compare.Driver.Listener;
import org.rpcrdma.benchmarks.compare.Work.Procedure;

/** Whether the calls of a load count from when they were due. */
class DriverTest {

    private static final long MILLIS = 1_000_000;
    private static final long PATIENCE_SECONDS = 60;

    /** What a look at the clock takes: no time passes but by looks. */
    private static final long LOOK = MILLIS / 10;

    private final EventLoopGroup group = Transport.NIO.newGroup();
    private final EventLoop loop = group.next();
    private long time;
    private final Histogram latencies = new Histogram(3);
    private final CompletableFuture<Long> finished = new CompletableFuture<>();
    private final Deque<Integer> out = new ArrayDeque<>();

    private final Listener listener =
            new Listener() {
                @Override
                public void finished(long calls) {
                    finished.complete(calls);
                }

                @Override
                public void failed(Throwable cause) {
                    finished.completeExceptionally(cause);
                }
            };

    @AfterEach
    void end() {
        group.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private long look() {
        long now = time;
        time += LOOK;
        return now;
    }

    /** Answers nothing until all that may be out is out: the last of them was due long after the first. */
    private final class Stalled extends Driver {

        private final int most;

        Stalled(int most) {
            super(listener, DriverTest.this::look);
            this.most = most;
        }

        @Override
        EventLoop loop() {
            return loop;
        }

        @Override
        void call(Work kind, int callId) {
            out.add(callId);
        }

        @Override
        void flush() {
            if (out.size() < most) {
                return;
            }
            loop.execute(
                    () -> {
                        while (!out.isEmpty()) {
                            answered(out.remove());
                        }
                    });
        }
    }

    private long run(Work work, int most, long millis) throws Exception {
        Driver driver = new Stalled(most);
        loop.execute(() -> driver.start(work, millis * MILLIS, latencies));
        return finished.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    @Test
    void aStallIsCountedForAllCallsThatWereDueMeanwhile() throws Exception {
        Work work = Work.of(Procedure.NULL, 0, 1).at(100, 1000);
        assertThat(run(work, 32, 64)).isEqualTo(64);
        // The first waits for 31 more, a millisecond each; the last of them for nobody.
        assertThat(latencies.getMaxValue()).isGreaterThanOrEqualTo(30 * MILLIS);
        assertThat(latencies.getTotalCount()).isEqualTo(64);
        assertThat(latencies.getCountBetweenValues(15 * MILLIS, Long.MAX_VALUE))
                .isGreaterThanOrEqualTo(30);
    }

    /** The event loop may have been away from its CPU for all of a short window. */
    @Test
    void aWindowThatBeginsWhenItIsOverHasOneCall() throws Exception {
        assertThat(run(Work.of(Procedure.NULL, 0, 1).at(100, 1000), 1, 0)).isEqualTo(1);
    }

    @Test
    void withoutARateEachAnswerIsFollowedByTheNextCall() throws Exception {
        assertThat(run(Work.of(Procedure.NULL, 0, 4), 1, 5)).isGreaterThanOrEqualTo(4);
    }
}
