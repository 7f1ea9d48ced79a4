// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.metrics;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.RpcRdmaMetrics;

/**
 * Binds {@link RpcRdmaMetrics} to a Micrometer registry: one counter for each {@link RpcRdmaCounter}, named {@code
 * rpcrdma.} and the counter in lower case with dots, gauges of connections, calls in flight and credits, and the timer
 * {@code rpcrdma.call.latency} from the write of a call to its reply.
 */
public final class RpcRdmaMeterBinder implements MeterBinder {

    private final RpcRdmaMetrics metrics;
    private final Iterable<Tag> tags;

    public RpcRdmaMeterBinder(RpcRdmaMetrics metrics) {
        this(metrics, Tags.empty());
    }

    /**
     * @param tags for every meter
     */
    public RpcRdmaMeterBinder(RpcRdmaMetrics metrics, Iterable<Tag> tags) {
        this.metrics = Objects.requireNonNull(metrics, "metrics");
        this.tags = Objects.requireNonNull(tags, "tags");
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        for (RpcRdmaCounter counter : RpcRdmaCounter.values()) {
            FunctionCounter.builder(nameOf(counter), metrics, m -> m.value(counter))
                    .tags(tags)
                    .register(registry);
        }
        Gauge.builder("rpcrdma.connections", metrics, RpcRdmaMetrics::connections)
                .tags(tags)
                .register(registry);
        Gauge.builder("rpcrdma.calls.in.flight", metrics, RpcRdmaMetrics::callsInFlight)
                .tags(tags)
                .register(registry);
        Gauge.builder("rpcrdma.credits.granted", metrics, RpcRdmaMetrics::creditsGranted)
                .tags(tags)
                .register(registry);
        Timer latency = Timer.builder("rpcrdma.call.latency").tags(tags).register(registry);
        metrics.onLatency(nanos -> latency.record(nanos, TimeUnit.NANOSECONDS));
    }

    private static String nameOf(RpcRdmaCounter counter) {
        return "rpcrdma." + counter.name().toLowerCase(Locale.ROOT).replace('_', '.');
    }
}
