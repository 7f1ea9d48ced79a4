// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * Tears down a connection: after the peer has ended it, by a close that waits for posted work, or immediately. Event
 * loop only.
 */
final class ConnectionEndState {

    /** Whether the peer has ended the connection; the channel closes when all inbound data are delivered. */
    boolean disconnected;

    private Throwable cause;

    /** Whether a close must not wait for posted work, because the device has refused work or must stop. */
    private boolean abandoned;

    /** Continuation of a close that waits for posted work; {@code null} when none does. */
    Runnable draining;

    /** {@code null} also when the event loop takes no timers any more. */
    private Future<?> drainTimer;

    // ------------------------------------------------------------------ by the peer

    /**
     * @param why cause reported by the device, or {@code null}
     */
    void disconnected(Throwable why) {
        disconnected = true;
        cause = why;
    }

    Throwable cause() {
        return cause;
    }

    /** Fails the flushed messages to a disconnected peer. */
    void failFlushed(ChannelOutboundBuffer flushed) {
        ClosedChannelException closed = new ClosedChannelException();
        closed.initCause(cause);
        while (flushed.current() != null) {
            flushed.remove(closed);
        }
    }

    // ------------------------------------------------------------------ by this side

    /** From now on a close does not wait for posted work. */
    void abandon() {
        abandoned = true;
    }

    boolean isAbandoned() {
        return abandoned;
    }

    /**
     * Defers a close until posted work completes: the work still uses its memory, and a user who closes in the listener
     * of a write expects earlier writes to arrive.
     *
     * @param millis until the connection is aborted
     * @return executor of the rest of the close
     */
    Executor draining(EventLoop loop, int millis) {
        return task -> {
            draining = task;
            try {
                drainTimer = loop.schedule(this::cut, millis, TimeUnit.MILLISECONDS);
            } catch (RejectedExecutionException e) {
                // The event loop ends: it takes no timers, and cuts what it does not wait for.
                drainTimer = null;
            }
        };
    }

    /** Continues the waiting close. */
    void cut() {
        Runnable task = draining;
        if (task != null) {
            draining = null;
            if (drainTimer != null) {
                drainTimer.cancel(false);
                drainTimer = null;
            }
            task.run();
        }
    }
}
