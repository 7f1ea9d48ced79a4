// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.FutureListener;
import java.util.concurrent.RejectedExecutionException;
import org.rpcrdma.codec.internal.DeferredNotifications;

/**
 * Event loop that the calls of one requester belong to, with the notifications that are told at the end of an event
 * there. Calls move to another event loop by one handover.
 */
final class EventLoopAffinity {

    private final Runnable atTermination;
    private final FutureListener<Object> listener;
    private final DeferredNotifications outcomes = new DeferredNotifications();

    /** Changed by itself only; whoever sees the new one sees all that the old one has left. */
    private volatile EventLoop loop;

    /**
     * @param atTermination the last resort: after it nobody else can end what is left. On whatever thread sees it
     */
    EventLoopAffinity(EventLoop loop, Runnable atTermination) {
        this.loop = loop;
        this.atTermination = atTermination;
        listener = future -> atTermination.run();
        addListener();
    }

    @SuppressWarnings("unchecked") // the event loop gives away its future without a type
    private void addListener() {
        ((Future<Object>) loop.terminationFuture()).addListener(listener);
    }

    /** Forgets what was to be done when the event loop ends. */
    @SuppressWarnings("unchecked") // as above
    void removeListener() {
        ((Future<Object>) loop.terminationFuture()).removeListener(listener);
    }

    // ------------------------------------------------------------------ any thread

    /** The one that it is now. */
    EventLoop current() {
        return loop;
    }

    boolean isHere() {
        return loop.inEventLoop();
    }

    /** Runs on the event loop that it is now, and may find another one then. False when it is gone. */
    boolean execute(Runnable task) {
        try {
            loop.execute(task);
            return true;
        } catch (RejectedExecutionException e) {
            return false;
        }
    }

    /** Does what is to be done at the end of the event loop, if that has come. */
    void seeTermination() {
        if (loop.isTerminated()) {
            atTermination.run();
        }
    }

    /**
     * Makes it an event on the event loop, whichever it is by then; later, even when this is it. False when it is gone.
     */
    boolean run(Runnable task) {
        return execute(
                () -> {
                    if (isHere()) {
                        event(task);
                    } else {
                        run(task);
                    }
                });
    }

    // ------------------------------------------------------------------ event loop only

    /** Something happens; users are told of it at its end. May be part of another event. */
    void event(Runnable what) {
        outcomes.begin();
        try {
            what.run();
        } finally {
            outcomes.end();
        }
    }

    /** For those events for each of which no object is to be made: see {@link #event}. */
    DeferredNotifications outcomes() {
        return outcomes;
    }

    /** Hands everything over. This thread touches nothing of it afterwards. Not within an event. */
    void moveTo(EventLoop next) {
        removeListener();
        loop = next;
        addListener();
    }
}
