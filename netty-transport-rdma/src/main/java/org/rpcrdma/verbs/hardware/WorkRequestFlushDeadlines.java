// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import java.util.ArrayDeque;

/**
 * Deadlines of connections that wait for the device to flush their work requests. All have the same time, so that they
 * expire in order.
 */
final class WorkRequestFlushDeadlines {

    private record Deadline(long nanos, Runnable overdue) {}

    private final ArrayDeque<Deadline> queue = new ArrayDeque<>();

    void add(long nanos, Runnable overdue) {
        queue.add(new Deadline(System.nanoTime() + nanos, overdue));
    }

    /** Ends all expired waits. No effect on waits that have already ended. */
    void expire() {
        while (!queue.isEmpty() && queue.peek().nanos - System.nanoTime() <= 0) {
            ConnectionErrorGuard.run(queue.poll().overdue, "A connection was not ended");
        }
    }

    /** Nanoseconds until the next one; {@link Long#MAX_VALUE} when there is none. */
    long nanosLeft() {
        return queue.isEmpty() ? Long.MAX_VALUE : queue.peek().nanos - System.nanoTime();
    }
}
