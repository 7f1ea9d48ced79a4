// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.rpcrdma.verbs.VerbsContext;

/**
 * Pause in polling a device that has failed several times in a row, as one does that is broken for good. Tasks of the
 * event loop run meanwhile. All methods but {@link #wakeup} are called by the thread of the event loop.
 */
final class PollPause {

    private static final InternalLogger logger = InternalLoggerFactory.getInstance(PollPause.class);

    /** Rounds that may fail one after the other before the loop pauses. */
    private static final int FAILURES_IN_A_ROW = 3;

    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final VerbsContext context;
    private int failures;
    private boolean isStarted;
    private long end;

    /** The thread while it waits beside a device that does not. */
    private volatile Thread parked;

    PollPause(VerbsContext context) {
        this.context = context;
    }

    /** A round of the event loop has failed. */
    void roundFailed() {
        failures++;
        if (failures > FAILURES_IN_A_ROW) {
            isStarted = true;
            end = context.nanoTime() + PAUSE_NANOS;
        }
    }

    /** A round in which the device was polled has not failed. */
    void roundSucceeded() {
        failures = 0;
    }

    /** Whether the device is not to be polled now. */
    boolean isOn() {
        return isStarted && end - context.nanoTime() > 0;
    }

    /**
     * Waits until the pause is over, for the limit at most; {@link #wakeup} ends it.
     *
     * @param hasTasks whether there is no reason to wait
     */
    void await(long begin, long limitNanos, BooleanSupplier hasTasks) {
        // The pause may have ended since it was asked for, and a device takes a negative time for
        // no limit.
        long limit = Math.max(0, Math.min(end - begin, limitNanos));
        try {
            context.await(limit);
        } catch (Throwable t) {
            logger.trace("A device that fails does not wait either", t);
        }
        long left = limit - (context.nanoTime() - begin);
        if (left > 0) {
            park(left, hasTasks); // the device does not wait, or was woken: then there are tasks
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

    /** Ends a wait. Any thread, behind the wakeup of the device. */
    void wakeup() {
        Thread waiting = parked;
        if (waiting != null) {
            LockSupport.unpark(waiting);
        }
    }
}
