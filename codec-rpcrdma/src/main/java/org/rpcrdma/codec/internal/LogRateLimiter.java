// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.internal;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** Rate limiter of log lines: one per second. Any thread. */
public final class LogRateLimiter {

    public static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final LongSupplier clock;
    private long last;
    private long suppressed;

    public LogRateLimiter(LongSupplier clock) {
        this.clock = clock;
        last = clock.getAsLong() - INTERVAL_NANOS;
    }

    /** Number of lines suppressed since the last permitted one; -1 if this line is suppressed too. */
    public synchronized long take() {
        long now = clock.getAsLong();
        if (now - last < INTERVAL_NANOS) {
            suppressed++;
            return -1;
        }
        last = now;
        long told = suppressed;
        suppressed = 0;
        return told;
    }
}
