// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

/**
 * Back-off of reconnection: computes the earliest time of the next attempt, with a pause that doubles. Event loop
 * only.
 */
final class ReconnectBackOff {

    private final CallClock clock;
    private final long minNanos;
    private final long maxNanos;
    private long lastAttempt;
    private long nanos;

    ReconnectBackOff(CallClock clock, long minNanos, long maxNanos) {
        this.clock = clock;
        this.minNanos = minNanos;
        this.maxNanos = maxNanos;
        lastAttempt = clock.nanoTime();
    }

    /** When the next attempt may be; the first one at once. */
    long end() {
        return lastAttempt + nanos;
    }

    boolean isOver() {
        return end() - clock.nanoTime() <= 0;
    }

    /** An attempt begins. */
    void attempted() {
        lastAttempt = clock.nanoTime();
        nanos = Math.max(minNanos, Math.min(2 * nanos, maxNanos));
    }

    /** The time since the last attempt began, in nanoseconds. */
    long sinceAttempt() {
        return clock.nanoTime() - lastAttempt;
    }

    /** The next attempt does not wait; the one after it does, no less than otherwise. */
    void skip() {
        lastAttempt = clock.nanoTime() - nanos;
    }

    /** The responder has answered: the next time is the first value. */
    void reset() {
        nanos = minNanos;
    }
}
