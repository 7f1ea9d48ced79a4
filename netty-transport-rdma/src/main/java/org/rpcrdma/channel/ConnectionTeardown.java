// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/**
 * Tears down a connection: after the peer's end, by a close that waits for posted work, or immediately. Event loop
 * only.
 */
final class ConnectionTeardown {

    /** The peer is gone; the channel closes when what has arrived is delivered. */
    private boolean disconnected;

    private Throwable cause;

    /** The device has refused work or must not go on: what is posted is not waited for. */
    private boolean abandoned;

    /** The rest of a close that waits for posted work. */
    private Runnable rest;

    private Future<?> drainTimer;

    // ------------------------------------------------------------------ by the peer

    /**
     * @param why as the device has it, or {@code null}
     */
    void disconnected(Throwable why) {
        disconnected = true;
        cause = why;
    }

    /** Whether the peer is gone, and nothing more arrives. */
    boolean isDisconnected() {
        return disconnected;
    }

    Throwable cause() {
        return cause;
    }

    /** Fails what is flushed to a peer that is gone. */
    void failFlushed(ChannelOutboundBuffer flushed) {
        ClosedChannelException closed = new ClosedChannelException();
        closed.initCause(cause);
        while (flushed.current() != null) {
            flushed.remove(closed);
        }
    }

    // ------------------------------------------------------------------ by this side

    /** No close waits for posted work any more. */
    void abandon() {
        abandoned = true;
    }

    boolean isAbandoned() {
        return abandoned;
    }

    /**
     * Has a close wait: posted work still uses the memory, and whoever closes in the listener of a write wants it
     * to arrive.
     *
     * @param millis until it is cut
     * @return what the rest of the close is given to
     */
    Executor draining(EventLoop loop, int millis) {
        return task -> {
            drainTimer = loop.schedule(this::cut, millis, TimeUnit.MILLISECONDS);
            rest = task;
        };
    }

    /** Whether a close waits for posted work. */
    boolean isDraining() {
        return rest != null;
    }

    /** Has the close that waits go on. */
    void cut() {
        Runnable task = rest;
        if (task != null) {
            rest = null;
            drainTimer.cancel(false);
            drainTimer = null;
            task.run();
        }
    }
}
