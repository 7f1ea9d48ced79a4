// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Deadlines of one round: what one of them does about another one counts. */
class DeadlineTaskQueueTest {

    private static final long HOUR_NANOS = TimeUnit.HOURS.toNanos(1);

    private final DeadlineTaskQueue timers = new DeadlineTaskQueue(IwarpHost.SYSTEM);
    private final List<String> expired = new ArrayList<>();

    private final class Named implements DeadlineTask {
        private final String name;
        private final Runnable action;
        private long deadline;
        private Error lack;

        Named(String name, long nanos, Runnable action) {
            this.name = name;
            this.action = action;
            this.deadline = System.nanoTime() + nanos;
            timers.add(this);
        }

        @Override
        public long deadline() {
            if (lack != null) {
                throw lack;
            }
            return deadline;
        }

        @Override
        public void expired() {
            expired.add(name);
            action.run();
        }
    }

    @Test
    void whatIsRemovedInTheSameRoundDoesNotExpire() {
        List<DeadlineTask> others = new ArrayList<>();
        new Named("first", 0, () -> others.forEach(timers::remove));
        others.add(new Named("second", 0, () -> {}));
        others.add(new Named("third", 0, () -> {}));
        new Named("last", 0, () -> {});
        timers.expire();
        assertThat(expired).containsExactly("first", "last");
        assertThat(timers.isEmpty()).isTrue();
    }

    @Test
    void whatIsPutOffInTheSameRoundExpiresLater() {
        List<Named> others = new ArrayList<>();
        new Named(
                "first",
                0,
                () -> {
                    Named second = others.get(0);
                    timers.remove(second);
                    second.deadline = System.nanoTime() + HOUR_NANOS;
                    timers.add(second);
                });
        others.add(new Named("second", 0, () -> {}));
        timers.expire();
        assertThat(expired).containsExactly("first");
        assertThat(timers.nanosLeft()).isGreaterThan(0);
        timers.remove(others.get(0));
        assertThat(timers.isEmpty()).isTrue();
    }

    @Test
    void aProbeThatIsStoppedInTheSameRoundEnds() {
        List<ZeroLengthWritePeerWakeup> probes = new ArrayList<>();
        new Named("first", 0, () -> probes.forEach(ZeroLengthWritePeerWakeup::stop));
        probes.add(new ZeroLengthWritePeerWakeup(timers, () -> {}, 0));
        timers.expire();
        assertThat(timers.isEmpty()).isTrue();
    }

    /** Another connection has nothing to do with it. */
    @Test
    void whatIsDueBehindOneThatFailsExpiresInTheNextRound() {
        new Named(
                "first",
                0,
                () -> {
                    throw new IllegalStateException("of the test");
                });
        new Named("second", 0, () -> {});
        new Named("later", HOUR_NANOS, () -> {});
        assertThatThrownBy(timers::expire).isInstanceOf(IllegalStateException.class);
        assertThat(timers.nanosLeft()).isLessThanOrEqualTo(0);
        timers.expire();
        assertThat(expired).containsExactly("first", "second");
        assertThat(timers.nanosLeft()).isGreaterThan(0);
    }

    /** It would never expire otherwise, such as the time-out of a start-up, and sockets are still read. */
    @Test
    void whatLacksMemoryExpiresAgainAndHoldsUpNoOther() {
        long[] clock = {0};
        DeadlineTaskQueue queue = new DeadlineTaskQueue(new ClockedHost(() -> clock[0]));
        List<Error> lacks = new ArrayList<>(List.of(new OutOfMemoryError("no heap")));
        queue.add(
                task(
                        () -> {
                            expired.add("first");
                            if (!lacks.isEmpty()) {
                                throw lacks.remove(0);
                            }
                        }));
        queue.add(task(() -> expired.add("second")));
        queue.expire();
        assertThat(expired).containsExactly("first", "second");
        assertThat(queue.nanosLeft()).isEqualTo(TimeUnit.MILLISECONDS.toNanos(100));
        queue.expire();
        assertThat(expired).hasSize(2);
        clock[0] += queue.nanosLeft();
        queue.expire();
        assertThat(expired).containsExactly("first", "second", "first");
        assertThat(queue.isEmpty()).isTrue();
    }

    /** A connection removes its timer first of all when it ends, and may lack memory behind it. */
    @Test
    void whatLacksMemoryBehindItsRemovalExpiresAgain() {
        long[] clock = {0};
        DeadlineTaskQueue queue = new DeadlineTaskQueue(new ClockedHost(() -> clock[0]));
        List<Error> lacks = new ArrayList<>(List.of(new OutOfMemoryError("no heap")));
        DeadlineTask[] task = new DeadlineTask[1];
        task[0] =
                task(
                        () -> {
                            expired.add("first");
                            queue.remove(task[0]);
                            if (!lacks.isEmpty()) {
                                throw lacks.remove(0);
                            }
                        });
        queue.add(task[0]);
        queue.expire();
        assertThat(queue.isEmpty()).isFalse();
        clock[0] += queue.nanosLeft();
        queue.expire();
        assertThat(expired).containsExactly("first", "first");
        assertThat(queue.isEmpty()).isTrue();
    }

    private static DeadlineTask task(Runnable expired) {
        return new DeadlineTask() {
            @Override
            public long deadline() {
                return 0;
            }

            @Override
            public void expired() {
                expired.run();
            }
        };
    }

    @Test
    void aDeadlineThatCannotBePutOffStays() {
        Named timer = new Named("first", 0, () -> {});
        timer.lack = new OutOfMemoryError("no heap");
        assertThatThrownBy(() -> timers.add(timer)).isSameAs(timer.lack);
        timers.expire();
        assertThat(expired).containsExactly("first");
        assertThat(timers.isEmpty()).isTrue();
    }

    /** Thousands of connections that close at a time must not cost the square of their number. */
    @Test
    void thousandsOfTimersAreNotComparedWithEachOther() {
        long[] clock = {0};
        long[] calls = {0};
        DeadlineTaskQueue many = new DeadlineTaskQueue(new ClockedHost(() -> clock[0]));
        final class Counted implements DeadlineTask {
            private final long deadline;

            Counted(long deadline) {
                this.deadline = deadline;
                many.add(this);
            }

            @Override
            public long deadline() {
                calls[0]++;
                return deadline;
            }

            @Override
            public void expired() {
                many.remove(this);
            }

            @Override
            public boolean equals(Object other) {
                calls[0]++;
                return this == other;
            }

            @Override
            public int hashCode() {
                return 0;
            }
        }
        int count = 2000;
        List<DeadlineTask> removed = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            new Counted(i + 1L);
            new Counted(count);
            removed.add(new Counted(count));
        }
        Collections.reverse(removed);
        removed.forEach(many::remove);
        for (int i = 0; i < count; i++) {
            clock[0]++;
            many.expire();
        }
        assertThat(many.isEmpty()).isTrue();
        assertThat(calls[0]).isLessThan(100L * count);
    }
}
