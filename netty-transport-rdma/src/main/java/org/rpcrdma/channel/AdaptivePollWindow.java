// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.util.concurrent.TimeUnit;

/**
 * Decides how long an event loop without work polls before it blocks, after the manner of KVM's halt polling: the
 * window is nothing at first, opens when polling would have caught the next event, and closes when it keeps missing.
 * A thread that loses its CPU while it polls takes one from others who need it, and polls no more for a while.
 *
 * <p>Has no clock: all times are nanoseconds from one origin, of any sign. Not thread-safe.
 */
final class AdaptivePollWindow {

    /** The longest that a loop polls after each piece of work. */
    static final long MAX_NANOS = TimeUnit.MICROSECONDS.toNanos(50);

    /**
     * A loop that has blocked for no longer may have missed an event within {@link #MAX_NANOS}: the rest is what it
     * takes to block, and to be woken, here and at a peer that blocks too.
     */
    static final long WORTH_A_TRIAL_NANOS = 4 * MAX_NANOS;

    /** Misses in a row that close a window with the most credit. */
    static final int MOST_CREDIT = 12;

    /** What a hit adds; a miss takes 1. */
    private static final int CREDIT_OF_HIT = 3;

    /** Waits worth a trial that pass without one after trials that failed, at most. */
    static final int MOST_SKIPPED = 1 << 10;

    /**
     * A round that takes so long was interrupted by the scheduler, for it does not give the CPU to others for less; or
     * by a collector; or else has so much to do that a wake-up costs little beside it.
     */
    static final long DESCHEDULED_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    /** A loop that polls may lose its CPU for one part in so many of the time. */
    static final int TOLERATED_LOSS = 16;

    static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    static final long LAST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private enum Wait {
        NONE,
        /** Polled so far, or not blocked yet. */
        POLLING,
        /** Polled to the end of the window without work, then blocked. */
        MISSED,
        /** Blocked, not polled to the end of a window. */
        BLOCKED
    }

    private Wait wait = Wait.NONE;
    private long waitBegan;
    private long window;
    private int credit;

    /** Waits worth a trial that still pass without one. */
    private int skipped;

    /** How many are to pass when the window closes again. */
    private int skippedNext = 1;

    private boolean isPaused;
    private long pauseEnd;
    private long pause = FIRST_PAUSE_NANOS;

    /** Since when the thread has not lost its CPU while it may poll. */
    private long undisturbedSince;

    AdaptivePollWindow(long now) {
        undisturbedSince = now;
    }

    /** How long a wait is polled, in nanoseconds; 0 when it blocks at once. */
    long nanos() {
        return isPaused ? 0 : window;
    }

    /** Whether the loop is to poll again at once. */
    boolean isOpen(long now) {
        return wait == Wait.POLLING && now - waitBegan < nanos();
    }

    /**
     * A poll has found no work.
     *
     * @param since when there last was work
     */
    void pollMissed(long since, long now) {
        if (isPaused && now - pauseEnd >= 0) {
            isPaused = false;
            undisturbedSince = now;
        }
        if (wait == Wait.NONE) {
            wait = Wait.POLLING;
            waitBegan = since;
        }
    }

    /** The loop is about to block, whatever the reason. */
    void blocks(long now) {
        if (wait == Wait.POLLING) {
            boolean isMissed = nanos() > 0 && now - waitBegan >= window;
            wait = isMissed ? Wait.MISSED : Wait.BLOCKED;
        }
    }

    /**
     * A poll has found work.
     *
     * @param now when that poll began: at the end of the last one without work, or when the loop was woken
     */
    void workFound(long now) {
        long took = now - waitBegan;
        Wait ended = wait;
        wait = Wait.NONE;
        if (isPaused) {
            return;
        }
        switch (ended) {
            case POLLING -> hit(took);
            case MISSED -> missed(took);
            case BLOCKED -> blocked(took);
            case NONE -> {}
        }
    }

    private void hit(long took) {
        if (window > 0) {
            credit = Math.min(MOST_CREDIT, credit + CREDIT_OF_HIT);
            skippedNext = Math.max(1, skippedNext / 2);
            window = Math.max(window, Math.min(MAX_NANOS, 4 * took));
        }
    }

    private void missed(long took) {
        if (took <= MAX_NANOS) {
            window = Math.max(window, Math.min(MAX_NANOS, 2 * took));
        } else if (--credit <= 0) {
            window = 0;
            skipped = skippedNext;
            skippedNext = Math.min(MOST_SKIPPED, 2 * skippedNext);
        }
    }

    private void blocked(long took) {
        if (window > 0 || took > WORTH_A_TRIAL_NANOS) {
            return; // not polled for another reason, or never to be caught
        }
        if (skipped > 0) {
            skipped--;
            return;
        }
        credit = 1;
        window = Math.max(1, Math.min(MAX_NANOS, 2 * took));
    }

    /** A round of the loop, with work or without, has ended; what it has waited in is none. */
    void roundEnded(long began, long now) {
        long took = now - began;
        if (took < DESCHEDULED_NANOS || nanos() == 0) {
            return;
        }
        boolean isTolerable = (now - undisturbedSince) / TOLERATED_LOSS >= took;
        undisturbedSince = now;
        if (isTolerable) {
            pause = Math.max(FIRST_PAUSE_NANOS, pause / 2);
        } else {
            isPaused = true;
            pauseEnd = now + pause;
            pause = Math.min(LAST_PAUSE_NANOS, 2 * pause);
        }
    }
}
