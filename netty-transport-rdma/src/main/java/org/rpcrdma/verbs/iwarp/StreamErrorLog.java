// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.concurrent.TimeUnit;

/**
 * A log that a peer cannot flood: a few lines per second, then only their number. It never throws, because a connection
 * ends behind the line that says so: where there is no memory, the line is left out.
 */
final class StreamErrorLog {

    private static final int LINES_PER_PERIOD = 10;
    private static final long PERIOD_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final InternalLogger logger =
            InternalLoggerFactory.getInstance("org.rpcrdma.verbs.iwarp.IwarpProvider");
    private long periodStart = System.nanoTime();
    private int lines;
    private long suppressed;

    void warn(String message, Object subject, Throwable cause) {
        try {
            if (logger.isWarnEnabled() && tryAcquire()) {
                logger.warn(message, subject, cause.toString());
                logger.debug("Cause:", cause);
            }
        } catch (RuntimeException | Error ignored) {
            // For lack of memory, or in an appender.
        }
    }

    private boolean tryAcquire() {
        long now = System.nanoTime();
        if (now - periodStart >= PERIOD_NANOS) {
            if (suppressed > 0) {
                logger.warn("{} similar lines were left out", suppressed);
            }
            periodStart = now;
            lines = 0;
            suppressed = 0;
        }
        if (lines == LINES_PER_PERIOD) {
            suppressed++;
            return false;
        }
        lines++;
        return true;
    }
}
