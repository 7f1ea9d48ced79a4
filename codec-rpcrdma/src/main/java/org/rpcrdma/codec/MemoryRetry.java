// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.util.concurrent.ScheduledFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * Tries again what a lack of registered memory has stopped: other connections have that memory, perhaps on other event
 * loops, and nobody tells when they give it back. Each attempt that fails doubles the pause. Event loop only.
 */
final class MemoryRetry {

    private static final long SHORTEST_MILLIS = 1;
    private static final long LONGEST_MILLIS = 128;

    private final ConnectionContext link;
    private final Runnable attempt;
    private long pause = SHORTEST_MILLIS;

    /** {@code null} while nothing is to be tried. */
    private ScheduledFuture<?> timer;

    MemoryRetry(ConnectionContext link, Runnable attempt) {
        this.link = link;
        this.attempt = attempt;
    }

    /** There was no memory. */
    void arm() {
        if (timer != null) {
            return;
        }
        try {
            timer = link.channel().eventLoop().schedule(this::wake, pause, TimeUnit.MILLISECONDS);
            pause = Math.min(2 * pause, LONGEST_MILLIS);
        } catch (RejectedExecutionException e) {
            timer = null; // the event loop ends, and the connection with it
        }
    }

    private void wake() {
        timer = null;
        attempt.run();
    }

    /** There was memory. */
    void succeeded() {
        pause = SHORTEST_MILLIS;
    }

    /** The connection is over. */
    void stop() {
        if (timer != null) {
            timer.cancel(false);
            timer = null;
        }
    }
}
