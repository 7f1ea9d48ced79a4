// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import io.netty.util.internal.logging.InternalLogger;

/** Warnings about failures, a lack of heap memory included, behind which something is still to be done. */
public final class FailureLog {

    private FailureLog() {}

    /**
     * Logs a warning. Never throws: there may be no memory for the log either, or an appender may fail. Any thread.
     *
     * @param logger of the class that has met with the failure
     * @param what a sentence
     * @param failure its cause
     */
    public static void warn(InternalLogger logger, String what, Throwable failure) {
        try {
            logger.warn(what, failure);
        } catch (Throwable ignored) {
            // Nothing is left to be done about it.
        }
    }
}
