// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.internal;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** Lets one line per second through. Any thread. */
public final class LogRateLimiter {

    public static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final LongSupplier clock;
    private long last;
    private long suppressed;

    public LogRateLimiter(LongSupplier clock) {
        this.clock = clock;
        last = clock.getAsLong() - INTERVAL_NANOS;
    }

    /** The number of lines not let through since the last one that was; -1 when this one is not either. */
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
