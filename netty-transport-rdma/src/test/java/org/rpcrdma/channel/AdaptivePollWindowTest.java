// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;

/** The window on a clock that only the test moves. */
class AdaptivePollWindowTest {

    private static final long LOOK = 1_000;
    private static final long MICRO = 1_000;
    private static final long MILLI = 1_000_000;
    private static final long SECOND = 1_000_000_000;

    /** An event loop without a thread, whose events come so long after it is done with the ones before. */
    private static final class Loop {
        final AdaptivePollWindow window;
        final long wakeNanos;
        final long began;
        long now;
        long polled;

        /** While it polls the loop has its CPU for so long, and then loses it for so long; 0 for never. */
        long slice;

        long lost;
        long lostInAll;
        private long sliceLeft;

        Loop(long origin, long wakeNanos) {
            now = origin;
            began = origin;
            this.wakeNanos = wakeNanos;
            window = new AdaptivePollWindow(origin);
        }

        void loseCpu(long sliceNanos, long lostNanos) {
            slice = sliceNanos;
            sliceLeft = sliceNanos;
            lost = lostNanos;
        }

        /** Returns whether polling has caught the event. */
        boolean event(long after) {
            long due = now + after;
            long since = now;
            while (true) {
                long begin = now;
                now += LOOK;
                if (window.nanos() > 0) {
                    useCpu();
                    window.roundEnded(begin, now);
                }
                if (now - due >= 0) {
                    window.workFound(begin);
                    return true;
                }
                window.pollMissed(since, now);
                if (!window.isOpen(now)) {
                    window.blocks(now);
                    now = Math.max(now, due) + wakeNanos;
                    window.workFound(now);
                    return false;
                }
                polled += LOOK;
            }
        }

        private void useCpu() {
            if (slice > 0) {
                sliceLeft -= LOOK;
                if (sliceLeft <= 0) {
                    sliceLeft = slice;
                    now += lost;
                    lostInAll += lost;
                }
            }
        }

        int caught(int events, long after) {
            int caught = 0;
            for (int i = 0; i < events; i++) {
                caught += event(after) ? 1 : 0;
            }
            return caught;
        }
    }

    @Example
    void itIsNothingAtFirst() {
        Loop loop = new Loop(0, 0);
        assertThat(loop.window.nanos()).isZero();
        assertThat(loop.event(10 * MICRO)).isFalse();
        assertThat(loop.polled).isZero();
    }

    /** Whatever it takes to be woken, and whatever the origin of the clock. */
    @Property(tries = 300)
    void eventsWithinTheMaximumAreSoonCaught(
            @ForAll @LongRange(min = 2_000, max = 47_000) long after,
            @ForAll @LongRange(max = 100_000) long wake,
            @ForAll long origin) {
        Loop loop = new Loop(origin, wake);
        loop.caught(3, after);
        assertThat(loop.caught(1000, after)).isEqualTo(1000);
    }

    @Property(tries = 100)
    void eventsBeyondTheMaximumCostNextToNothing(
            @ForAll @LongRange(min = 55_000, max = 2_000_000) long after,
            @ForAll @LongRange(max = 100_000) long wake) {
        Loop loop = new Loop(0, wake);
        loop.caught(10_000, after);
        assertThat(loop.polled).isLessThan((loop.now - loop.began) / 100);
        if (after + wake > AdaptivePollWindow.WORTH_A_TRIAL_NANOS) {
            assertThat(loop.polled).isZero();
        }
    }

    /** The window neither closes for each long wait nor opens for the next one. */
    @Property(tries = 100)
    void oneWaitInTwoOrThreeThatIsShortIsCaughtEachTime(
            @ForAll @LongRange(min = 2_000, max = 40_000) long brief,
            @ForAll @LongRange(min = 60_000, max = 10_000_000) long lengthy,
            @ForAll @IntRange(min = 1, max = 2) int lengthies) {
        Loop loop = new Loop(0, 20 * MICRO);
        loop.caught(10, brief);
        for (int i = 0; i < 1000; i++) {
            loop.caught(lengthies, lengthy);
            assertThat(loop.event(brief)).isTrue();
        }
    }

    @Property(tries = 100)
    void shortWaitsThatAreRareDoNotKeepItOpen(
            @ForAll @LongRange(min = 2_000, max = 40_000) long brief,
            @ForAll @LongRange(min = 200_000, max = 10_000_000) long lengthy,
            @ForAll @IntRange(min = 8, max = 50) int lengthies) {
        Loop loop = new Loop(0, 20 * MICRO);
        for (int i = 0; i < 2000; i++) {
            loop.event(brief);
            loop.caught(lengthies, lengthy);
        }
        assertThat(loop.polled).isLessThan((loop.now - loop.began) / 50);
    }

    /** As while the JVM warms up: what failed then does not keep polling off. */
    @Property(tries = 50)
    void failuresAreForgotten(@ForAll @LongRange(min = 55_000, max = 150_000) long slow) {
        Loop loop = new Loop(0, 20 * MICRO);
        loop.caught(20_000, slow);
        loop.caught(AdaptivePollWindow.MOST_SKIPPED + 3, 10 * MICRO);
        assertThat(loop.caught(1000, 10 * MICRO)).isEqualTo(1000);
    }

    @Example
    void aFewMissesCloseIt() {
        Loop loop = new Loop(0, 20 * MICRO);
        loop.caught(100, 10 * MICRO);
        loop.caught(AdaptivePollWindow.MOST_CREDIT, MILLI);
        assertThat(loop.window.nanos()).isZero();
    }

    @Example
    void anEventShortlyAfterTheWindowMakesItLonger() {
        Loop loop = new Loop(0, 0);
        loop.caught(2, 2 * MICRO);
        long first = loop.window.nanos();
        assertThat(first).isBetween(1L, 20 * MICRO);
        assertThat(loop.event(30 * MICRO)).isFalse();
        assertThat(loop.event(30 * MICRO)).isTrue();
        assertThat(loop.window.nanos()).isGreaterThan(first);
    }

    /** Slices of a scheduler, beside as many others as there are CPUs, and of a container that is throttled. */
    @Property(tries = 100)
    void aLoopThatLosesItsCpuLosesLittleOfItsTime(
            @ForAll @LongRange(min = 1_000_000, max = 6_000_000) long slice,
            @ForAll @LongRange(min = 1_000_000, max = 60_000_000) long lost) {
        Loop loop = new Loop(0, 20 * MICRO);
        loop.loseCpu(slice, lost);
        while (loop.now < 20 * SECOND) {
            loop.event(10 * MICRO);
        }
        // Beside the first few times, which it takes to find out.
        assertThat(loop.lostInAll - 11 * lost)
                .isLessThan(loop.now / AdaptivePollWindow.TOLERATED_LOSS);
    }

    @Example
    void aLoopThatHasItsCpuAgainPollsAgain() {
        Loop loop = new Loop(0, 20 * MICRO);
        loop.loseCpu(2 * MILLI, 4 * MILLI);
        while (loop.now < 10 * SECOND) {
            loop.event(10 * MICRO);
        }
        loop.loseCpu(0, 0);
        long end = loop.now + AdaptivePollWindow.LAST_PAUSE_NANOS;
        while (loop.now < end) {
            loop.event(10 * MICRO);
        }
        loop.caught(3, 10 * MICRO);
        assertThat(loop.caught(1000, 10 * MICRO)).isEqualTo(1000);
    }

    /** As collections of garbage do. */
    @Example
    void rareInterruptionsAreTolerated() {
        Loop loop = new Loop(0, 20 * MICRO);
        loop.caught(20_000, 10 * MICRO);
        loop.loseCpu(50 * MILLI, 2 * MILLI);
        assertThat(loop.caught(100_000, 10 * MICRO)).isEqualTo(100_000);
    }

    /** Where other loops poll, a wait says nothing of the window. */
    @Example
    void waitsThatWereNotPolledThoughTheWindowIsOpenCloseNothing() {
        Loop loop = new Loop(0, 20 * MICRO);
        loop.caught(10, 10 * MICRO);
        long open = loop.window.nanos();
        for (int i = 0; i < 1000; i++) {
            loop.window.pollMissed(loop.now, loop.now + 1);
            loop.window.blocks(loop.now + 1);
            loop.now += TimeUnit.SECONDS.toNanos(1);
            loop.window.workFound(loop.now);
        }
        assertThat(loop.window.nanos()).isEqualTo(open);
    }

    /** A wake-up for nothing does not begin the wait anew. */
    @Example
    void aWaitThatIsInterruptedIsOneWait() {
        AdaptivePollWindow window = new AdaptivePollWindow(0);
        window.pollMissed(0, 1);
        window.blocks(1);
        window.pollMissed(0, AdaptivePollWindow.WORTH_A_TRIAL_NANOS);
        assertThat(window.isOpen(AdaptivePollWindow.WORTH_A_TRIAL_NANOS)).isFalse();
        window.blocks(AdaptivePollWindow.WORTH_A_TRIAL_NANOS);
        window.workFound(AdaptivePollWindow.WORTH_A_TRIAL_NANOS + 1);
        assertThat(window.nanos()).isZero();
    }
}
