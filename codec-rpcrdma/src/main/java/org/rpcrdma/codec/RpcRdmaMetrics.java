// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;

/**
 * The counters of all connections of one or more {@link RpcRdmaConfig}. May be read from any thread at any time. A
 * count never falls. Every open connection counts for itself; only opening one, closing one and reading take a lock.
 */
public final class RpcRdmaMetrics {

    private static final RpcRdmaListener[] NOBODY = {};

    private final Set<ConnectionMetrics> open = new HashSet<>();

    /** What closed connections have counted, and what has happened outside of any. */
    private final ConnectionMetrics rest = new ConnectionMetrics(this);

    private volatile RpcRdmaListener[] listeners = NOBODY;

    /** New counters at zero, to be shared by any number of configurations. */
    public RpcRdmaMetrics() {}

    /**
     * {@return the sum over all connections, those that are closed included}
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
     * Tells the times of calls from now on to one listener more. While there is none, no clock is read.
     *
     * @param listener told as often as it was added
     */
    public synchronized void addListener(RpcRdmaListener listener) {
        RpcRdmaListener[] more = Arrays.copyOf(listeners, listeners.length + 1);
        more[listeners.length] = Objects.requireNonNull(listener, "listener");
        listeners = more;
    }

    /**
     * Takes back one {@link #addListener}; nothing happens when there was none.
     *
     * @param listener one that was added
     */
    public synchronized void removeListener(RpcRdmaListener listener) {
        int at = Arrays.asList(listeners).indexOf(listener);
        if (at >= 0) {
            RpcRdmaListener[] less = Arrays.copyOf(listeners, listeners.length - 1);
            System.arraycopy(listeners, at + 1, less, at, less.length - at);
            listeners = less;
        }
    }

    RpcRdmaListener[] listeners() {
        return listeners;
    }

    /** Counts what belongs to no connection. */
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
