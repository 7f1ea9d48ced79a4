// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.FutureListener;
import java.util.concurrent.RejectedExecutionException;
import org.rpcrdma.codec.internal.DeferredNotifications;

/**
 * Event loop of one requester's calls, and the notifications deferred to the end of an event there. {@link #moveTo}
 * hands all calls over to another event loop.
 */
final class MovableRequesterEventLoop {

    private final Runnable atTermination;
    private final FutureListener<Object> listener;
    private final DeferredNotifications outcomes = new DeferredNotifications();

    /**
     * Written by the current event loop only. Volatile: a thread that reads the new loop sees all writes of the old
     * one.
     */
    private volatile EventLoop loop;

    /**
     * @param atTermination ends the remaining calls after the event loop has terminated; on any thread, any number of
     *     times
     */
    MovableRequesterEventLoop(EventLoop loop, Runnable atTermination) {
        this.loop = loop;
        this.atTermination = atTermination;
        listener = future -> runAtTermination();
        addListener();
    }

    /** The event loop that has terminated may be one that the calls have left: each refused task adds a listener. */
    private void runAtTermination() {
        if (loop.isTerminated()) {
            atTermination.run();
        }
    }

    @SuppressWarnings("unchecked") // the event loop's future has no type
    private void addListener() {
        ((Future<Object>) loop.terminationFuture()).addListener(listener);
    }

    /** Removes the listener of the event loop's termination. */
    @SuppressWarnings("unchecked") // as above
    void removeListener() {
        ((Future<Object>) loop.terminationFuture()).removeListener(listener);
    }

    // ------------------------------------------------------------------ any thread

    /** The current event loop. */
    EventLoop current() {
        return loop;
    }

    boolean isHere() {
        return loop.inEventLoop();
    }

    /**
     * Runs a task on the current event loop; the calls may have moved by the time it runs. {@code false} after
     * termination.
     */
    boolean execute(Runnable task) {
        EventLoop tried = null;
        for (EventLoop next = loop; next != tried; next = loop) { // may move while one refuses
            try {
                next.execute(task);
                return true;
            } catch (RejectedExecutionException e) {
                tried = next;
            }
        }
        return false;
    }

    /**
     * The event loop has refused a task: runs the termination action now, or once the event loop has terminated, even
     * after {@link #removeListener}.
     */
    void seeTermination() {
        if (loop.isTerminated()) {
            atTermination.run();
        } else {
            addListener();
        }
    }

    /**
     * Runs a task as an event on the event loop that is current by then, always asynchronously. {@code false} after
     * termination.
     */
    boolean tryExecute(Runnable task) {
        return execute(
                () -> {
                    if (isHere()) {
                        event(task);
                    } else {
                        tryExecute(task);
                    }
                });
    }

    // ------------------------------------------------------------------ event loop only

    /** Runs an event; users are notified at its end. May be nested in another event. */
    void event(Runnable what) {
        outcomes.begin();
        try {
            what.run();
        } finally {
            outcomes.end();
        }
    }

    /** Deferred notifications, for events that must not allocate: see {@link #event}. */
    DeferredNotifications outcomes() {
        return outcomes;
    }

    /** Hands all state over to another event loop; this thread must not access it afterwards. Not within an event. */
    void moveTo(EventLoop next) {
        removeListener();
        loop = next;
        addListener();
    }
}
