// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.internal;

import java.util.concurrent.atomic.AtomicLong;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Test;
import org.rpcrdma.concurrency.Interleavings;

/** Found: {@code take()} that is not synchronized. */
class LogRateLimiterTest {

    @Test
    void isLinearizable() {
        Interleavings.checkLinearizability(Limiter.class);
    }

    public static class Limiter {

        private final AtomicLong clock = new AtomicLong();
        private final LogRateLimiter limiter = new LogRateLimiter(clock::get);

        @Operation
        public long take() {
            return limiter.take();
        }

        @Operation
        public void waitForNextInterval() {
            clock.addAndGet(LogRateLimiter.INTERVAL_NANOS);
        }
    }
}
