// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.internal;

import java.util.ArrayDeque;
import java.util.Queue;

/**
 * Queue of notifications to users, deferred to the end of the current event: no listener runs while state is being
 * changed, so a reentrant call finds it consistent. One thread at a time.
 */
public final class DeferredNotifications {

    private final Queue<Runnable> waiting = new ArrayDeque<>();
    private int depth;

    /** Begins an event, or a nested part of the current one. */
    public void begin() {
        depth++;
    }

    /** Defers a notification, after those already deferred. Only within an event. */
    public void add(Runnable outcome) {
        waiting.add(outcome);
    }

    /** Ends the innermost part. At the end of the event, runs all notifications, including those they add. */
    public void end() {
        // Notifications may begin further events, which are nested in this one and add to it.
        for (Runnable next = next(); next != null; next = next()) {
            try {
                next.run();
            } catch (Throwable t) {
                UserExceptionLog.failed("who is told what has become of calls", t);
            }
        }
        depth--;
    }

    private Runnable next() {
        return depth == 1 ? waiting.poll() : null;
    }
}
