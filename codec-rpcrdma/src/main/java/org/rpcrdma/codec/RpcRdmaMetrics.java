// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongConsumer;

/** The counters of all connections of one {@link RpcRdmaConfig}. May be read from any thread at any time. */
public final class RpcRdmaMetrics {

    private final Set<RpcRdmaConnection> open = ConcurrentHashMap.newKeySet();
    private final Map<RpcRdmaCounter, LongAdder> closed = new EnumMap<>(RpcRdmaCounter.class);
    private volatile LongConsumer latency;

    /** New counters at zero, to be shared by any number of configurations. */
    public RpcRdmaMetrics() {
        for (RpcRdmaCounter counter : RpcRdmaCounter.values()) {
            closed.put(counter, new LongAdder());
        }
    }

    /** The sum over all connections, those that are closed included. */
    public long value(RpcRdmaCounter counter) {
        long sum = closed.get(counter).sum();
        for (RpcRdmaConnection connection : open) {
            sum += connection.value(counter);
        }
        return sum;
    }

    /** The connections that are open. */
    public int connections() {
        return open.size();
    }

    /** The calls that wait for their reply, on all open connections. */
    public long callsInFlight() {
        long sum = 0;
        for (RpcRdmaConnection connection : open) {
            sum += connection.callsInFlight();
        }
        return sum;
    }

    /** The credits granted by the responders of all open connections. */
    public long creditsGranted() {
        long sum = 0;
        for (RpcRdmaConnection connection : open) {
            sum += connection.creditsGranted();
        }
        return sum;
    }

    /**
     * Has the time of each call, from its write to its reply, told to a listener: in nanoseconds, on the event loop. One
     * listener at a time; the newest wins.
     */
    public void onLatency(LongConsumer listener) {
        latency = Objects.requireNonNull(listener, "listener");
    }

    void latency(long nanos) {
        LongConsumer listener = latency;
        if (listener != null) {
            listener.accept(nanos);
        }
    }

    boolean wantsLatency() {
        return latency != null;
    }

    void opened(RpcRdmaConnection connection) {
        open.add(connection);
    }

    void closed(RpcRdmaConnection connection) {
        if (open.remove(connection)) {
            closed.forEach((counter, sum) -> sum.add(connection.value(counter)));
        }
    }
}
