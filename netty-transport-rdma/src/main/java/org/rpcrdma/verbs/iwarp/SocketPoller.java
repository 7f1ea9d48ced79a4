// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayDeque;
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

    /** What one selection by epoll finds at most: there is room for it in advance, because it may find no memory. */
    private static final int MOST_SELECTED = 1024;

    /** Whether the thread waits, runs, or runs and was told not to wait. */
    private enum Wake {
        RUNNING,
        WAITING,
        SIGNALLED
    }

    private final Selector selector;
    private final StreamErrorLog log;

    /** Keys that the selector has found ready, and that no poll has come to. */
    private final ArrayDeque<SelectionKey> selected = new ArrayDeque<>(MOST_SELECTED);

    private final Consumer<SelectionKey> onSelected = this::selected;
    private final AtomicReference<Wake> wake = new AtomicReference<>(Wake.RUNNING);
    private final BusyTcpPollSet busy = new BusyTcpPollSet();
    private final SharedMemoryPollSet rings = new SharedMemoryPollSet();

    /** Bytes that were received or sent so far. */
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

    /** Counts bytes that were received or sent. */
    void moved(long bytes) {
        moved += bytes;
    }

    /**
     * Handles sockets that are known to be ready. When there are none, polls the busy connections, and asks the
     * selector for all others when it is time to.
     *
     * <p>Of those that are known to be ready, the first that moves bytes is the last one of this poll: what it has
     * received is delivered, answered and released before the next one's input takes its place in the CPU's cache.
     *
     * @param movedBefore {@link #moved} at the start of the round
     */
    void poll(long movedBefore) {
        boolean isPolled = rings.count > 0 && rings.poll();
        boolean isDue = !isPolled || !busy.isEmpty() || moved - movedBefore >= BYTES_PER_SELECT;
        if (!hasSelected()) {
            if (busy.poll() || !isDue) {
                return;
            }
            try {
                selector.selectNow(onSelected);
            } catch (IOException e) {
                log.warn("Selecting of {} failed: {}", selector, e);
            }
        }
        long movedByOthers = moved;
        while (hasSelected() && moved == movedByOthers) {
            ready(selected.pollFirst());
        }
    }

    /** Whether sockets are ready that the last poll has not come to: the next one does, so nobody may wait. */
    boolean hasSelected() {
        return !selected.isEmpty();
    }

    /** Waits for an event, which the next poll handles, or {@link #wakeup}, and for no longer than the limit. */
    void await(long limitNanos) throws IOException {
        if (wake.compareAndSet(Wake.RUNNING, Wake.WAITING)) {
            // The selector counts milliseconds: rounded up, because waking too early would make the
            // caller spin.
            long millis =
                    limitNanos == Long.MAX_VALUE
                            ? 0
                            : Math.max(1, TimeUnit.NANOSECONDS.toMillis(limitNanos + 999_999));
            try {
                if (rings.count == 0 || rings.trySleep()) {
                    selector.select(onSelected, millis);
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

    private void selected(SelectionKey key) {
        if (((SelectionKeyHandler) key.attachment()).mayWait()) {
            selected.addLast(key);
        } else {
            ready(key);
        }
    }

    private void ready(SelectionKey key) {
        SelectionKeyHandler socket = (SelectionKeyHandler) key.attachment();
        try {
            // Since it was selected its socket may have been closed, have paused, or have another
            // user, who may have nothing to write.
            int operations = key.isValid() ? key.readyOps() & key.interestOps() : 0;
            if (operations != 0) {
                socket.ready(operations);
            }
        } catch (CancelledKeyException e) {
            // Another thread has ended it.
            LOGGER.trace("A key was cancelled meanwhile", e);
        } catch (IOException | RuntimeException e) {
            socket.failed(e);
        } catch (Error e) {
            socket.failed(Sockets.ended(e));
        }
    }

    void close() {
        selected.clear();
        dropClosedChannels();
        try {
            selector.close();
        } catch (IOException e) {
            LOGGER.debug("Closing the selector failed", e);
        }
    }
}
