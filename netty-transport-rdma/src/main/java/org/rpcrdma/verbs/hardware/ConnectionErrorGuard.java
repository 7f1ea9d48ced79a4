// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import org.rpcrdma.verbs.FailureLog;

/** Keeps what one connection throws, a lack of heap memory included, from the other ones of its event loop. */
public final class ConnectionErrorGuard {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(ConnectionErrorGuard.class);

    private ConnectionErrorGuard() {}

    /** Runs a task, and logs whatever it throws. */
    public static void run(Runnable task, String ifItFails) {
        try {
            task.run();
        } catch (Throwable t) {
            FailureLog.warn(logger, ifItFails, t);
        }
    }
}
