// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.util.concurrent.ScheduledFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * Timer that retries an operation which lacked registered memory. A timer, because other connections hold the memory,
 * possibly on other event loops, and do not signal its release. The delay doubles with each failed attempt. Event loop
 * only.
 */
final class RegisteredMemoryRetryTimer {

    private static final long SHORTEST_MILLIS = 1;
    private static final long LONGEST_MILLIS = 128;

    private final ConnectionSharedState link;
    private final Runnable attempt;
    private long pause = SHORTEST_MILLIS;

    /** {@code null} while no attempt is scheduled. */
    private ScheduledFuture<?> timer;

    RegisteredMemoryRetryTimer(ConnectionSharedState link, Runnable attempt) {
        this.link = link;
        this.attempt = attempt;
    }

    /** The attempt failed for lack of memory: schedules the next one. */
    void arm() {
        if (timer != null) {
            return;
        }
        try {
            timer = link.channel.eventLoop().schedule(this::wake, pause, TimeUnit.MILLISECONDS);
            pause = Math.min(2 * pause, LONGEST_MILLIS);
        } catch (RejectedExecutionException e) {
            timer = null; // the event loop shuts down, and closes the connection
        }
    }

    private void wake() {
        timer = null;
        attempt.run();
    }

    /** The attempt succeeded: resets the delay. */
    void succeeded() {
        pause = SHORTEST_MILLIS;
    }

    /** The connection is closed: cancels the timer. */
    void stop() {
        if (timer != null) {
            timer.cancel(false);
            timer = null;
        }
    }
}
