// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.concurrent.TimeUnit;

/**
 * Tells of failures that a peer or a lack of resources can cause at any rate: one line a second, without stack traces.
 */
final class RateLimitedLogger {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(RateLimitedLogger.class);

    private static final long PERIOD_NANOS = TimeUnit.SECONDS.toNanos(1);

    private long last = System.nanoTime() - PERIOD_NANOS;
    private long left;

    /**
     * @param what has failed, such as "a connection is not accepted"
     * @param cause an exception, or a reason in words
     */
    void warn(Object subject, String what, Object cause) {
        long now = System.nanoTime();
        if (now - last < PERIOD_NANOS) {
            left++;
            return;
        }
        last = now;
        logger.warn("{}: {}: {} ({} similar lines left out before)", subject, what, cause, left);
        if (cause instanceof Throwable exception) {
            logger.debug("Cause:", exception);
        }
        left = 0;
    }
}
