// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.rpcrdma.verbs.EventLoopVerbsContext;

/**
 * Pause in polling a device that fails repeatedly, such as a permanently broken one. Tasks of the event loop run
 * meanwhile. All methods except {@link #wakeup} are called by the thread of the event loop.
 */
final class PollFailureBackOff {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(PollFailureBackOff.class);

    /** Consecutive failed rounds before the loop pauses. */
    private static final int FAILURES_IN_A_ROW = 3;

    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final EventLoopVerbsContext context;

    /** Rounds in a row that have failed: 0 in all usual ones, which need not ask more. */
    int failures;

    private long end;

    /** The thread while it waits here instead of in the device. */
    private volatile Thread parked;

    PollFailureBackOff(EventLoopVerbsContext context) {
        this.context = context;
    }

    /** A round of the event loop has failed. */
    void roundFailed() {
        failures++;
        if (failures > FAILURES_IN_A_ROW) {
            end = context.nanoTime() + PAUSE_NANOS;
        }
    }

    /** A round that polled the device has succeeded. */
    void roundSucceeded() {
        failures = 0;
    }

    /** Whether polling is paused. */
    boolean isOn() {
        return failures > FAILURES_IN_A_ROW && end - context.nanoTime() > 0;
    }

    /**
     * Waits until the pause ends, at most until the limit; {@link #wakeup} ends the wait.
     *
     * @param hasTasks whether tasks are waiting
     */
    void await(long begin, long limitNanos, BooleanSupplier hasTasks) {
        // The pause may have ended meanwhile, and a device takes a negative time as no limit.
        long limit = Math.max(0, Math.min(end - begin, limitNanos));
        try {
            context.await(limit);
        } catch (Throwable t) {
            logger.trace("A device that fails does not wait either", t);
        }
        long left = limit - (context.nanoTime() - begin);
        if (left > 0) {
            park(left, hasTasks); // the device did not wait, or was woken because of tasks
        }
    }

    private void park(long nanos, BooleanSupplier hasTasks) {
        parked = Thread.currentThread();
        try {
            if (!hasTasks.getAsBoolean()) {
                LockSupport.parkNanos(this, nanos);
            }
        } finally {
            parked = null;
        }
    }

    /** Ends a wait. Any thread, after waking the device. */
    void wakeup() {
        Thread waiting = parked;
        if (waiting != null) {
            LockSupport.unpark(waiting);
        }
    }
}
