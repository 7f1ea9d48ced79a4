// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.internal;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

/**
 * The boundary to code of users that has no call to fail: listeners, policies, and what is told to a cache. Whatever it
 * throws, an {@link Error} included, ends here, in at most one line of the log per second. Where there is a call the
 * exception fails it. Any thread.
 */
public final class UserCode {

    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(UserCode.class);

    private static final LogRateLimiter LIMIT = new LogRateLimiter(System::nanoTime);

    private UserCode() {}

    /**
     * Logs what was thrown, and goes on.
     *
     * @param what has thrown, as the beginning of a sentence
     */
    public static void failed(String what, Throwable thrown) {
        long suppressed = LIMIT.take();
        if (suppressed >= 0) {
            LOGGER.warn("{} has thrown ({} more not shown)", what, suppressed, thrown);
        }
    }
}
