// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.TimeUnit;

/**
 * Calls that a responder has refused although there was room for their replies, until they are repeated: it may have
 * had no memory at that moment, and RFC 8166 has no other error for that than ERR_CHUNK. Event loop only.
 */
final class RefusedCalls {

    /** Long enough for other calls to give memory back, and short beside any time-out. */
    static final long PAUSE_MILLIS = 100;

    private record Refused(CallReplyFuture<?> call, long due) {}

    private final CallClock clock;
    private final EarliestDeadlineTimer timer;

    /** All have the same pause, so they are due in their order. */
    private final Queue<Refused> calls = new ArrayDeque<>();

    /**
     * @param due is run when calls are to be {@linkplain #poll repeated}
     */
    RefusedCalls(CallClock clock, EventLoopAffinity loop, Runnable due) {
        this.clock = clock;
        timer = new EarliestDeadlineTimer(clock, loop, due);
    }

    /** Keeps a call; it is out on no channel meanwhile. */
    void add(CallReplyFuture<?> call) {
        Refused refused =
                new Refused(call, clock.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PAUSE_MILLIS));
        calls.add(refused);
        timer.arm(refused.due());
    }

    /** The next one that is due; {@code null} when there is none. It may have ended, or gone out again. */
    CallReplyFuture<?> poll() {
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

    /** The channel is gone: what waits goes out on the next one, like all others. */
    void clear() {
        calls.clear();
        timer.stop();
    }
}
