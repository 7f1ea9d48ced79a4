// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;

/** The one timer of a requester's calls: it goes off for what is due first. Event loop only. */
final class EarliestDeadlineTimer {

    private final CallClock clock;
    private final EventLoopAffinity loop;
    private final Runnable due;
    private Future<?> timer;
    private long deadline;

    /**
     * @param due is run when the time has come; the timer is to be armed again then
     */
    EarliestDeadlineTimer(CallClock clock, EventLoopAffinity loop, Runnable due) {
        this.clock = clock;
        this.loop = loop;
        this.due = due;
    }

    /** Has the timer go off at that time, or earlier if it does anyway. */
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
            timer = null; // the event loop ends, and all calls with it
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
