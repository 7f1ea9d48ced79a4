// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** One lack of memory does not put the time-outs of all connections out of work. */
class IncompleteInputStallTimerTest {

    private static final Duration LIMIT = Duration.ofSeconds(4);

    private final Clock clock = new Clock();
    private final DeadlineTaskQueue timers = new DeadlineTaskQueue(clock);
    private int looks;
    private boolean isBegun = true;
    private final IncompleteInputStallTimer timer =
            new IncompleteInputStallTimer(timers, this::look, LIMIT);

    private boolean look() {
        looks++;
        return isBegun;
    }

    @Test
    void aTimerThatCouldNotBeSetIsSetTheNextTime() {
        clock.error = new OutOfMemoryError("no heap");
        assertThatThrownBy(timer::begin).isSameAs(clock.error);
        clock.error = null;
        timer.begin();
        assertThat(timers.isEmpty()).isFalse();
    }

    @Test
    void aTimerThatCouldNotBeSetAnewLooksAgain() {
        timer.begin();
        clock.now = LIMIT.toNanos();
        clock.lacksMemoryAfter = 1;
        timers.expire();
        assertThat(looks).isEqualTo(1);
        clock.error = null;
        clock.now += timers.nanosLeft();
        timers.expire();
        assertThat(looks).isEqualTo(2);
        assertThat(timers.nanosLeft()).isPositive();
        isBegun = false;
        clock.now += LIMIT.toNanos();
        timers.expire();
        assertThat(looks).isEqualTo(3);
        assertThat(timers.isEmpty()).isTrue();
    }

    private static final class Clock implements IwarpHost {

        private long now;
        private Error error;
        private int lacksMemoryAfter = -1;

        @Override
        public SelectorProvider sockets() {
            throw new UnsupportedOperationException();
        }

        @Override
        public long nanoTime() {
            if (lacksMemoryAfter-- == 0) {
                error = new OutOfMemoryError("no heap");
            }
            if (error != null) {
                throw error;
            }
            return now;
        }
    }
}
