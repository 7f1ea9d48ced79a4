// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Deadlines of one round: what one of them does about another one counts. */
class TimersTest {

    private static final long HOUR_NANOS = TimeUnit.HOURS.toNanos(1);

    private final Timers timers = new Timers(IwarpHost.SYSTEM);
    private final List<String> expired = new ArrayList<>();

    private final class Named implements Timer {
        private final String name;
        private final Runnable action;
        private long deadline;

        Named(String name, long nanos, Runnable action) {
            this.name = name;
            this.action = action;
            this.deadline = System.nanoTime() + nanos;
            timers.add(this);
        }

        @Override
        public long deadline() {
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
        List<Timer> others = new ArrayList<>();
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
    void aNudgeThatIsStoppedInTheSameRoundEnds() {
        List<LostWakeupRetry> nudges = new ArrayList<>();
        new Named("first", 0, () -> nudges.forEach(LostWakeupRetry::stop));
        nudges.add(new LostWakeupRetry(timers, () -> {}, 0));
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
}
