// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import java.util.function.LongSupplier;

/** Opens to tests in other packages what they need of this one. */
public final class ClientTestAccess {

    /** The pause before a refused call is repeated. */
    public static final long REFUSED_PAUSE_MILLIS = ErrChunkCallRetryQueue.PAUSE_MILLIS;

    /** The most connections in a row that are lost by reverse calls before a client waits for a call. */
    public static final int MOST_LOSSES = ConnectionsLostToReverseCallsCounter.MOST;

    private ClientTestAccess() {}

    /** Schedules a task, as {@link RequesterClockAndTimers#schedule}. */
    public interface Scheduler {
        Future<?> schedule(EventLoop loop, Runnable task, long nanos);
    }

    /** Has a client, or a callback, live in the time of a test. */
    public static <B extends DefaultCallOptionsBuilder<B>> B clocked(B builder, ManualClock clock) {
        return builder.clock(clock);
    }

    /** As the other one, in the time of somebody else. */
    public static <B extends DefaultCallOptionsBuilder<B>> B clocked(
            B builder, LongSupplier time, Scheduler scheduler) {
        return builder.clock(
                new RequesterClockAndTimers() {
                    @Override
                    public long nanoTime() {
                        return time.getAsLong();
                    }

                    @Override
                    public Future<?> schedule(EventLoop loop, Runnable task, long nanos) {
                        return scheduler.schedule(loop, task, nanos);
                    }
                });
    }
}
