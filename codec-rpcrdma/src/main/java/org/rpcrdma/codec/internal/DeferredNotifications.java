// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.internal;

import java.util.ArrayDeque;
import java.util.Queue;

/**
 * Deferred notifications of users. All of it waits for the end of the event in which it has become known: no listener
 * is ever called while calls are looked through, so whatever it does finds nothing half done, and undoes nothing that
 * is under way. One thread at a time.
 */
public final class DeferredNotifications {

    private final Queue<Runnable> waiting = new ArrayDeque<>();
    private int depth;

    /** Begins an event, or a part of the one that is under way. */
    public void begin() {
        depth++;
    }

    /** Has something told, behind all that waits already. Only within an event. */
    public void add(Runnable outcome) {
        waiting.add(outcome);
    }

    /** Ends what was begun last. At the end of the event all is told, and what comes of that as well. */
    public void end() {
        // What is told may begin further events: they are within this one, and add to it.
        for (Runnable next = next(); next != null; next = next()) {
            try {
                next.run();
            } catch (Throwable t) {
                UserCode.failed("who is told what has become of calls", t);
            }
        }
        depth--;
    }

    private Runnable next() {
        return depth == 1 ? waiting.poll() : null;
    }
}
