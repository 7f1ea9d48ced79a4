// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.rpcrdma.Proves;

class LogRateLimiterTest {

    @Test
    @Proves("SEC-15")
    void oneLinePerSecondTellsOfThoseNotShown() {
        AtomicLong now = new AtomicLong(Long.MAX_VALUE - 5);
        LogRateLimiter limit = new LogRateLimiter(now::get);
        assertThat(limit.take()).isZero();
        assertThat(limit.take()).isEqualTo(-1);
        now.addAndGet(LogRateLimiter.INTERVAL_NANOS - 1);
        assertThat(limit.take()).isEqualTo(-1);
        now.incrementAndGet();
        assertThat(limit.take()).isEqualTo(2);
        now.addAndGet(LogRateLimiter.INTERVAL_NANOS);
        assertThat(limit.take()).isZero();
    }
}
