// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/**
 * Polls the sockets and shared rings of one context: busy connections directly, all others by a selector. All methods
 * but {@link #wakeup} are called by the thread of the event loop.
 */
final class SocketPoller {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(SocketPoller.class);

    /** Bytes after which the selector is polled at once, which is cheap in comparison. */
    private static final long BYTES_PER_SELECT = 128 * 1024;

    /** Whether the thread waits, runs, or runs and was told not to wait. */
    private enum Wake {
        RUNNING,
        WAITING,
        SIGNALLED
    }

    private final Selector selector;
    private final StreamErrorLog log;
    private final Consumer<SelectionKey> onReady = this::ready;
    private final AtomicReference<Wake> wake = new AtomicReference<>(Wake.RUNNING);
    private final BusyTcpPollSet busy = new BusyTcpPollSet();
    private final SharedMemoryPollSet rings = new SharedMemoryPollSet();

    /** Bytes that were received or sent in this round. */
    long moved;

    SocketPoller(Selector selector, StreamErrorLog log) {
        this.selector = selector;
        this.log = log;
    }

    /** TCP connections that are read without asking the selector. */
    BusyTcpPollSet busy() {
        return busy;
    }

    /** Shared memory that is looked into; all other memory announces itself by TCP. */
    SharedMemoryPollSet rings() {
        return rings;
    }

    SelectionKey register(SelectableChannel channel, int operations, SelectionKeyHandler socket)
            throws IOException {
        return channel.register(selector, operations, socket);
    }

    /** The key of a channel that is registered here already, or {@code null}. */
    SelectionKey keyOf(SelectableChannel channel) {
        return channel.keyFor(selector);
    }

    /** A closed channel keeps its descriptor, and a listener its port, until a selection has dropped its key. */
    void dropClosedChannels() {
        try {
            selector.selectNow(key -> {}); // level-triggered: ready keys stay ready
        } catch (IOException e) {
            LOGGER.debug("Dropping the keys of closed channels failed", e);
        }
    }

    /** Counts bytes that were received or sent in this round. */
    void moved(long bytes) {
        moved += bytes;
    }

    void startRound() {
        moved = 0;
    }

    /** Polls the busy connections, and asks the selector for all others when it is time to. */
    void poll() {
        boolean isPolled = rings.poll();
        boolean isDue = !isPolled || !busy.isEmpty() || moved >= BYTES_PER_SELECT;
        if (!busy.poll() && isDue) {
            select();
        }
    }

    private void select() {
        try {
            selector.selectNow(onReady);
        } catch (IOException e) {
            log.warn("Selecting of {} failed: {}", selector, e);
        }
    }

    /** Waits for an event or {@link #wakeup}, and for no longer than the limit. */
    void await(long limitNanos) throws IOException {
        if (wake.compareAndSet(Wake.RUNNING, Wake.WAITING)) {
            // The selector counts milliseconds: rounded up, because waking too early would make the
            // caller spin.
            long millis =
                    limitNanos == Long.MAX_VALUE
                            ? 0
                            : Math.max(1, TimeUnit.NANOSECONDS.toMillis(limitNanos + 999_999));
            try {
                if (rings.trySleep()) {
                    selector.select(onReady, millis);
                }
            } finally {
                wake.set(Wake.RUNNING);
            }
        } else {
            wake.set(Wake.RUNNING);
        }
    }

    void wakeup() {
        if (wake.get() != Wake.SIGNALLED && wake.getAndSet(Wake.SIGNALLED) == Wake.WAITING) {
            selector.wakeup();
        }
    }

    private void ready(SelectionKey key) {
        SelectionKeyHandler socket = (SelectionKeyHandler) key.attachment();
        try {
            socket.ready(key);
        } catch (CancelledKeyException e) {
            // Another socket of the same round has ended this one.
            LOGGER.trace("A key was cancelled meanwhile", e);
        } catch (IOException | RuntimeException e) {
            socket.failed(e);
        } catch (Error e) {
            socket.failed(Sockets.ended(e));
        }
    }

    void close() {
        dropClosedChannels();
        try {
            selector.close();
        } catch (IOException e) {
            LOGGER.debug("Closing the selector failed", e);
        }
    }
}
