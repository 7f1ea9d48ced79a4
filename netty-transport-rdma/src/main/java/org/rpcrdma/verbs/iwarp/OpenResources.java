// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.rpcrdma.verbs.FailureLog;

/** Set of the open objects of one context, to close those that are left when the context is closed. */
final class OpenResources {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(OpenResources.class);

    private final Set<AutoCloseable> open = new LinkedHashSet<>();

    void add(AutoCloseable object) {
        open.add(object);
    }

    void remove(AutoCloseable object) {
        open.remove(object);
    }

    boolean isEmpty() {
        return open.isEmpty();
    }

    void closeAll() {
        for (AutoCloseable each : List.copyOf(open)) {
            try {
                each.close();
            } catch (Exception e) {
                LOGGER.debug("Closing {} failed", each, e);
            } catch (Error e) {
                // The others are still to be closed.
                FailureLog.warn(LOGGER, "Closing failed", e);
            }
        }
    }
}
