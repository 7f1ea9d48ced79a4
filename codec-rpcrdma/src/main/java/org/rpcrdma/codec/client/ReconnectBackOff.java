// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

/**
 * Back-off of reconnection: computes the earliest time of the next attempt, with a doubling delay. Event loop only.
 */
final class ReconnectBackOff {

    private final RequesterClockAndTimers clock;
    private final long minNanos;
    private final long maxNanos;
    private long lastAttempt;
    private long nanos;

    ReconnectBackOff(RequesterClockAndTimers clock, long minNanos, long maxNanos) {
        this.clock = clock;
        this.minNanos = minNanos;
        this.maxNanos = maxNanos;
        lastAttempt = clock.nanoTime();
    }

    /** Earliest time of the next attempt; the first attempt does not wait. */
    long end() {
        return lastAttempt + nanos;
    }

    boolean isOver() {
        return end() - clock.nanoTime() <= 0;
    }

    /** An attempt has begun. */
    void attempted() {
        lastAttempt = clock.nanoTime();
        nanos = Math.max(minNanos, Math.min(2 * nanos, maxNanos));
    }

    /** The time since the last attempt began, in nanoseconds. */
    long sinceAttempt() {
        return clock.nanoTime() - lastAttempt;
    }

    /** Lets the next attempt start at once; the delay after it is unchanged. */
    void skip() {
        lastAttempt = clock.nanoTime() - nanos;
    }

    /** The responder has answered: resets the delay to the minimum. */
    void reset() {
        nanos = minNanos;
    }
}
