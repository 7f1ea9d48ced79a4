// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.internal;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

/**
 * Handler of exceptions from user code that belong to no call: listeners, policies and caches. Logs them, including an
 * {@link Error}, at most once per second. Exceptions that belong to a call fail that call instead. Any thread.
 */
public final class UserExceptionLog {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(UserExceptionLog.class);

    private static final LogRateLimiter LIMIT = new LogRateLimiter(System::nanoTime);

    private UserExceptionLog() {}

    /**
     * Logs an exception.
     *
     * @param what the code that has thrown, as the beginning of a sentence
     */
    public static void failed(String what, Throwable thrown) {
        long suppressed = LIMIT.take();
        if (suppressed >= 0) {
            LOGGER.warn("{} has thrown ({} more not shown)", what, suppressed, thrown);
        }
    }
}
