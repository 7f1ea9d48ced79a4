// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.TimeUnit;

/**
 * Calls refused with ERR_CHUNK although their memory covers the reply, until they are repeated after a pause: the
 * responder may have lacked memory, for which RFC 8166 has no other error. Event loop only.
 */
final class ErrChunkCallRetryQueue {

    /** Long enough for other calls to release memory, and short compared to time-outs. */
    static final long PAUSE_MILLIS = 100;

    private record Refused(CallWithReplyFuture<?> call, long due) {}

    private final RequesterClockAndTimers clock;
    private final EarliestDeadlineTimer timer;

    /** All have the same pause, so they are due in order of arrival. */
    private final Queue<Refused> calls = new ArrayDeque<>();

    /**
     * @param due runs when calls are due to be {@linkplain #poll repeated}
     */
    ErrChunkCallRetryQueue(
            RequesterClockAndTimers clock, MovableRequesterEventLoop loop, Runnable due) {
        this.clock = clock;
        timer = new EarliestDeadlineTimer(clock, loop, due);
    }

    /** Adds a call, which is not in flight on any channel. */
    void add(CallWithReplyFuture<?> call) {
        Refused refused =
                new Refused(call, clock.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PAUSE_MILLIS));
        calls.add(refused);
        timer.arm(refused.due());
    }

    /**
     * Removes and returns the next call that is due; {@code null} if none. The call may have ended, or been sent again.
     */
    CallWithReplyFuture<?> poll() {
        Refused next = calls.peek();
        if (next == null) {
            return null;
        }
        if (next.due() - clock.nanoTime() > 0) {
            timer.arm(next.due());
            return null;
        }
        calls.remove();
        return next.call();
    }

    /** The channel is lost: the calls are sent on the next one, like all others. */
    void clear() {
        calls.clear();
        timer.stop();
    }
}
