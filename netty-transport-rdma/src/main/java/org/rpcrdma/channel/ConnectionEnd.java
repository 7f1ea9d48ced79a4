// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.EventLoop;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/**
 * How a connection ends: by the peer, by a close that waits for posted work, or by one that must not wait. Event
 * loop only.
 */
final class ConnectionEnd {

    /** The peer is gone; the channel closes when what has arrived is delivered. */
    private boolean disconnected;

    private Throwable cause;

    /** The device has refused work or must not go on: what is posted is not waited for. */
    private boolean abandoned;

    /** The rest of a close that waits for posted work. */
    private Runnable rest;

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
            rest = task;
            loop.schedule(this::cut, millis, TimeUnit.MILLISECONDS);
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
            task.run();
        }
    }
}
