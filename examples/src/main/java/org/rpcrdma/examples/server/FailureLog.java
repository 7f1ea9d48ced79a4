// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.rpcrdma.examples.common.Printable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tells of failed calls: a client decides how often a call fails, but not how much is logged. Any thread. */
final class FailureLog {

    private static final Logger LOG = LoggerFactory.getLogger(FailureLog.class);

    private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final AtomicLong nextNanos = new AtomicLong(System.nanoTime());

    void warn(Object what, Throwable failure) {
        long now = System.nanoTime();
        long next = nextNanos.get();
        if (now - next >= 0 && nextNanos.compareAndSet(next, now + INTERVAL_NANOS)) {
            LOG.warn("{} failed: {}", what, Printable.of(failure));
        }
        LOG.debug("{} failed", what, failure);
    }
}
