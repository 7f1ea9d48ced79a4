// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.metrics;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.rpcrdma.codec.RpcRdmaMetrics;

/**
 * Binds {@link RpcRdmaMetrics} to Micrometer registries; docs/metrics.md lists the meters. Any number of metrics may be
 * bound to any number of registries: those with the same tags are added up. Thread-safe.
 *
 * <pre>{@code
 * new RpcRdmaMeterBinder(config.metrics()).bindTo(registry);
 * }</pre>
 */
public final class RpcRdmaMeterBinder implements MeterBinder, AutoCloseable {

    private record Binding(MeterGroup<RpcRdmaMetrics> group, MeterTimers timers) {}

    private final RpcRdmaMetrics metrics;
    private final Tags tags;
    private final Duration[] levels;
    private final List<Binding> bindings = new ArrayList<>(1);

    /**
     * Binds without tags of its own, which is enough where servers and clients need not be told apart.
     *
     * @param metrics those of one configuration, {@code RpcRdmaConfig.metrics()}
     */
    public RpcRdmaMeterBinder(RpcRdmaMetrics metrics) {
        this(metrics, Tags.empty());
    }

    /**
     * Binds with tags of its own.
     *
     * @param metrics those of one configuration, {@code RpcRdmaConfig.metrics()}
     * @param tags for every meter, such as a name for what the connections are for; never addresses of peers, of which
     *     there may be any number. A registry of Prometheus wants the same keys in all binders
     * @param serviceLevels bounds of histogram buckets of all timers; none unless given here or by a
     *     {@code MeterFilter}
     */
    public RpcRdmaMeterBinder(
            RpcRdmaMetrics metrics, Iterable<Tag> tags, Duration... serviceLevels) {
        this.metrics = Objects.requireNonNull(metrics, "metrics");
        this.tags = Tags.of(Objects.requireNonNull(tags, "tags"));
        this.levels = serviceLevels.clone();
    }

    /** Registers all meters; nothing happens when these metrics are bound with these tags already. */
    @Override
    public synchronized void bindTo(MeterRegistry registry) {
        MeterGroup<RpcRdmaMetrics> group = MeterGroup.of(registry, RpcRdmaMeters.TABLE, tags);
        if (group.add(metrics)) {
            MeterTimers timers = new MeterTimers(registry, tags, levels);
            metrics.addListener(timers);
            bindings.add(new Binding(group, timers));
        }
    }

    /**
     * Ends what {@link #bindTo} has begun, when the connections behind the metrics are over: what they have counted
     * stays in the registries, what they count from now on does not reach them.
     */
    @Override
    public synchronized void close() {
        for (Binding binding : bindings) {
            binding.group().remove(metrics);
            metrics.removeListener(binding.timers());
        }
        bindings.clear();
    }
}
