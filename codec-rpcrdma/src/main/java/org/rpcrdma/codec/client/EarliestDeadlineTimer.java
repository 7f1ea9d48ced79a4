// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;

/** Single timer of a requester's calls, armed for the earliest deadline. Event loop only. */
final class EarliestDeadlineTimer {

    private final RequesterClockAndTimers clock;
    private final MovableRequesterEventLoop loop;
    private final Runnable due;
    private Future<?> timer;
    private long deadline;

    /**
     * @param due runs at the deadline; the caller must arm the timer again
     */
    EarliestDeadlineTimer(
            RequesterClockAndTimers clock, MovableRequesterEventLoop loop, Runnable due) {
        this.clock = clock;
        this.loop = loop;
        this.due = due;
    }

    /** Arms the timer for that time, unless it is armed for an earlier one. */
    void arm(long newDeadline) {
        if (timer != null) {
            if (deadline - newDeadline <= 0) {
                return;
            }
            timer.cancel(false);
        }
        deadline = newDeadline;
        try {
            timer =
                    clock.schedule(
                            loop.current(), this::goOff, Math.max(0, deadline - clock.nanoTime()));
        } catch (RejectedExecutionException e) {
            timer = null; // the event loop shuts down, which ends all calls
        }
    }

    private void goOff() {
        timer = null;
        due.run();
    }

    void stop() {
        if (timer != null) {
            timer.cancel(false);
            timer = null;
        }
    }
}
