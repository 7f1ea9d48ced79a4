// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Clock and timers of a requester. Any thread. */
interface RequesterClockAndTimers {

    /** The system clock. */
    RequesterClockAndTimers SYSTEM =
            new RequesterClockAndTimers() {
                @Override
                public long nanoTime() {
                    return System.nanoTime();
                }

                @Override
                public Future<?> schedule(EventLoop loop, Runnable task, long nanos) {
                    return loop.schedule(task, nanos, TimeUnit.NANOSECONDS);
                }
            };

    /** Nanoseconds from an arbitrary origin, as {@link System#nanoTime}. */
    long nanoTime();

    /**
     * Schedules a task. A task cancelled on its event loop does not run.
     *
     * @param nanos from now, at least 0
     * @throws java.util.concurrent.RejectedExecutionException when the event loop is shut down
     */
    Future<?> schedule(EventLoop loop, Runnable task, long nanos);
}
