// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;

/**
 * The counters of all connections whose {@link RpcRdmaCodec} was given this object, and of all clients that were built
 * with it; one that is given none has its own. May be read from any thread at any time. A count never decreases. Every
 * open connection has its own counters; only opening, closing and reading take a lock.
 */
public final class RpcRdmaMetrics {

    private static final RpcRdmaLatencyListener[] NOBODY = {};

    /** Wants nothing but the start of each call. */
    private static final RpcRdmaLatencyListener WATCHER = new RpcRdmaLatencyListener() {};

    private final Set<ConnectionMetrics> open = new HashSet<>();

    /** Counts of closed connections, and of events outside of a connection. */
    private final ConnectionMetrics rest = new ConnectionMetrics(this);

    volatile RpcRdmaLatencyListener[] listeners = NOBODY;

    /** New counters at zero, for any number of servers and clients. */
    public RpcRdmaMetrics() {}

    /**
     * {@return the sum over all connections, including closed ones}
     *
     * @param counter which one
     */
    public synchronized long value(RpcRdmaCounter counter) {
        long sum = rest.value(counter);
        for (ConnectionMetrics connection : open) {
            sum += connection.value(counter);
        }
        return sum;
    }

    /**
     * {@return the part of one role in the sum over all connections}
     *
     * @param role which one
     * @param counter which one
     * @throws IllegalArgumentException when the counter is not {@link RpcRdmaCounter#isByRole}
     */
    public synchronized long value(RpcRdmaRole role, RpcRdmaCounter counter) {
        if (!counter.isByRole()) {
            throw new IllegalArgumentException(
                    "counter " + counter + " by role (expected: one that is counted for both)");
        }
        long sum = rest.value(role, counter);
        for (ConnectionMetrics connection : open) {
            sum += connection.value(role, counter);
        }
        return sum;
    }

    /**
     * {@return the sum over the open connections}
     *
     * @param gauge which one
     */
    public synchronized long value(RpcRdmaGauge gauge) {
        long sum = 0;
        for (ConnectionMetrics connection : open) {
            sum += connection.value(gauge);
        }
        return sum;
    }

    /**
     * {@return the age of the oldest call without an answer on the open connections, in nanoseconds; 0 for none} Of a
     * requester since the write of the call, of a responder since its arrival. Starts are measured while there is a
     * {@linkplain #addListener listener}, and from the first call of this method on; earlier calls are left out.
     *
     * @param role of this end
     */
    public synchronized long oldestCallNanos(RpcRdmaRole role) {
        if (listeners.length == 0) {
            addListener(WATCHER);
        }
        long now = System.nanoTime();
        long oldest = 0;
        for (ConnectionMetrics connection : open) {
            oldest = Math.max(oldest, connection.oldestCallNanos(role, now));
        }
        return oldest;
    }

    /** {@return the connections that are open} */
    public synchronized int connections() {
        return open.size();
    }

    /** {@return the calls that wait for their reply, on all open connections} */
    public long callsInFlight() {
        return value(RpcRdmaGauge.CALLS_IN_FLIGHT);
    }

    /** {@return the credits that the responders of all open connections have granted} */
    public long creditsGranted() {
        return value(RpcRdmaGauge.CREDITS_GRANTED);
    }

    /**
     * Adds a listener of durations. Without listeners, no clock is read.
     *
     * @param listener called once for each time it was added
     */
    public synchronized void addListener(RpcRdmaLatencyListener listener) {
        RpcRdmaLatencyListener[] more = Arrays.copyOf(listeners, listeners.length + 1);
        more[listeners.length] = Objects.requireNonNull(listener, "listener");
        listeners = more;
    }

    /**
     * Reverts one {@link #addListener}; without effect if there was none.
     *
     * @param listener one that was added
     */
    public synchronized void removeListener(RpcRdmaLatencyListener listener) {
        int at = Arrays.asList(listeners).indexOf(listener);
        if (at >= 0) {
            RpcRdmaLatencyListener[] less = Arrays.copyOf(listeners, listeners.length - 1);
            System.arraycopy(listeners, at + 1, less, at, less.length - at);
            listeners = less;
        }
    }

    /** Counts an event outside of a connection. */
    synchronized void increment(RpcRdmaCounter counter) {
        rest.increment(counter);
    }

    synchronized void opened(ConnectionMetrics connection) {
        open.add(connection);
        rest.increment(RpcRdmaCounter.CONNECTIONS_OPENED);
    }

    /**
     * A connection has ended.
     *
     * @param how one of the counters of that
     */
    synchronized void closed(ConnectionMetrics connection, RpcRdmaCounter how) {
        if (open.remove(connection)) {
            rest.addAll(connection);
            rest.increment(RpcRdmaCounter.CONNECTIONS_CLOSED);
            rest.increment(how);
        }
    }

    @Override
    public String toString() {
        return "RpcRdmaMetrics("
                + connections()
                + " connections, "
                + callsInFlight()
                + " calls in flight, "
                + value(RpcRdmaGauge.CALLS_IN_PROGRESS)
                + " in progress)";
    }
}
