// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;

/**
 * One event loop's share of a device: its completion queue, its connection events, its wake-up, its memory and its
 * queue pairs.
 *
 * <p>Not thread-safe: every method but {@link #wakeup()} is called by the thread that polls. No handler is ever called
 * from inside another call than {@link #poll(int)}, so that posting from a handler never re-enters it.
 */
public interface VerbsContext extends AutoCloseable {

    /** {@return what this device can do, and its limits} */
    DeviceCapabilities capabilities();

    /**
     * The clock that deadlines of this context and of its event loop go by. Callable from any thread.
     *
     * @return nanoseconds from an arbitrary origin, as {@link System#nanoTime}, which it is by default
     */
    default long nanoTime() {
        return System.nanoTime();
    }

    /**
     * What this context has counted. Callable from any thread, which may see a number that is a little old.
     *
     * @param counter which one
     * @return from 0; -1 when this device does not count it
     */
    default long value(DeviceCounter counter) {
        return -1;
    }

    /**
     * The completions of work requests that have failed for this reason, those that were only flushed not among them:
     * {@link DeviceCounter#COMPLETIONS_FAILED} is their sum. Callable from any thread, as that one.
     *
     * @param error the reason
     * @return from 0; -1 when this device does not count it
     */
    default long value(CompletionError error) {
        return -1;
    }

    /**
     * Moves bytes and delivers completions and connection events to their handlers.
     *
     * @param budget the most events to deliver, at least 1
     * @return how many events were delivered or bytes were moved; 0 says that there was nothing to do
     */
    int poll(int budget);

    /**
     * Blocks until there is something to poll, until {@link #wakeup()} is called or until the time has passed.
     *
     * @param nanos the longest time to wait; 0 returns at once, negative waits without a limit
     * @throws IOException when the device is broken
     */
    void await(long nanos) throws IOException;

    /** Ends the current, or else the next, {@link #await(long)}. Callable from any thread. */
    void wakeup();

    /**
     * Registers memory for local use: no peer can reach it before it is exposed by {@link QueuePair#expose}.
     *
     * @param memory a direct buffer; the bytes between its position and its limit are registered. The caller keeps
     *     that memory alive until {@link MemoryRegion#deregister()}
     * @param address the address of the first byte, as it is used in work requests: the native address, or any number
     *     the caller makes up when the JVM does not tell it, as long as regions do not overlap
     * @return the region, which this context owns until it is deregistered
     */
    MemoryRegion register(ByteBuffer memory, long address);

    /**
     * Creates the queue pair of an active (connecting) endpoint. Post receives, then {@link QueuePair#connect}.
     *
     * @param config of the queue pair
     * @param handler told of everything that happens, on the thread that polls
     * @return the queue pair; the caller closes it
     * @throws IOException when the device has no more room
     */
    QueuePair createQueuePair(QueuePairConfig config, QueuePairHandler handler) throws IOException;

    /**
     * Creates the queue pair of a passive endpoint. Post receives, then {@link QueuePair#accept}. The request may come
     * from a listener of another context of the same provider; it is used up.
     *
     * @param request not used before
     * @param config of the queue pair
     * @param handler told of everything that happens, on the thread that polls
     * @return the queue pair; the caller closes it
     * @throws IOException when the device has no more room or the peer has gone away
     */
    QueuePair createQueuePair(
            ConnectionRequest request, QueuePairConfig config, QueuePairHandler handler)
            throws IOException;

    /**
     * Listens for connection requests.
     *
     * @param local the address to bind to; port 0 for any
     * @param backlog the most connection requests that wait for an answer; further ones wait in the network or
     *     are refused
     * @param handler told of everything that happens, on the thread that polls
     * @return the listener; the caller closes it
     * @throws IOException when the address cannot be bound
     */
    Listener listen(InetSocketAddress local, int backlog, ListenerHandler handler)
            throws IOException;

    /**
     * Whether connections whose queue pairs were closed have not ended yet: what was sent on them may be lost where the
     * context is closed now. That ends by itself, soon, as long as {@link #poll} is called.
     *
     * @return {@code false} where a device sees to that by itself
     */
    default boolean isLingering() {
        return false;
    }

    /** Frees everything that is left: queue pairs are closed without ceremony, their work is flushed unseen. */
    @Override
    void close();
}
