// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;

/**
 * Device context of one event loop: completion queue, connection events, wake-up, memory regions and queue pairs.
 *
 * <p>Not thread-safe: every method but {@link #wakeup()} is called by the thread that polls. Handlers are called only
 * from inside {@link #poll(int)} and {@link #deliverQueued()}, so that posting from a handler is never
 * reentrant.
 */
public interface EventLoopVerbsContext extends AutoCloseable {

    /** {@return what this device can do, and its limits} */
    DeviceCapabilities capabilities();

    /**
     * The clock of deadlines of this context and of its event loop. Any thread.
     *
     * @return nanoseconds from an arbitrary origin, as {@link System#nanoTime}, which it is by default
     */
    default long nanoTime() {
        return System.nanoTime();
    }

    /**
     * A counter of this context. Any thread, which may read a slightly old value.
     *
     * @param counter which one
     * @return from 0; -1 when this device does not count it
     */
    default long value(DeviceCounter counter) {
        return -1;
    }

    /**
     * Number of work requests that failed for this reason, without flushed ones; {@link
     * DeviceCounter#COMPLETIONS_FAILED} is the sum. Any thread.
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
     * Delivers completions and connection events that are queued at the time of the call, without looking for new ones;
     * what handlers add meanwhile waits. A device that completes work within {@link QueuePair#doorbell()} reports it so
     * before other connections are served: what the work used is released while it is still in the CPU's cache. Not
     * called by handlers.
     *
     * @return how many events were delivered; always 0 for a device that leaves all events to {@link #poll}
     */
    default int deliverQueued() {
        return 0;
    }

    /**
     * Whether the last {@link #poll} has left connections that are ready to be read or written: the next one serves
     * them at once. The caller lets what has come from the others be handled meanwhile, and polls again before it runs
     * tasks, unless much has come or the poll has returned 0.
     *
     * @return {@code false} always for a device whose poll leaves none
     */
    default boolean hasReadyConnections() {
        return false;
    }

    /**
     * Blocks until there is work to poll, {@link #wakeup()} is called or the time has passed.
     *
     * @param nanos the longest time to wait; 0 returns at once, negative waits without a limit
     * @throws IOException when the device is broken
     */
    void await(long nanos) throws IOException;

    /** Ends the current, or else the next, {@link #await(long)}. Callable from any thread. */
    void wakeup();

    /**
     * Registers memory for local use: no peer can access it before it is exposed by {@link QueuePair#expose}.
     *
     * @param memory a direct buffer; the bytes between its position and its limit are registered. The caller keeps
     *     that memory alive until {@link MemoryRegion#deregister()}
     * @param address the address of the first byte, as it is used in work requests: the native address, or any number
     *     chosen by the caller if the JVM does not expose addresses, provided that regions do not overlap
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
     * Whether connections of closed queue pairs have not ended yet: closing the context now may lose data sent on them.
     * They end soon while {@link #poll} is called.
     *
     * @return {@code false} if the device itself completes such connections
     */
    default boolean isLingering() {
        return false;
    }

    /** Releases all resources: closes queue pairs abruptly and flushes their work without completions. */
    @Override
    void close();
}
