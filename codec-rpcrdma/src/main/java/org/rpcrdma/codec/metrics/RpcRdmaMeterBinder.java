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
 * new RpcRdmaMeterBinder(metrics).bindTo(registry);
 * }</pre>
 */
public final class RpcRdmaMeterBinder implements MeterBinder, AutoCloseable {

    private record Binding(AggregatedMeterGroup<RpcRdmaMetrics> group, MeterTimers timers) {}

    private final RpcRdmaMetrics metrics;
    private final Tags tags;
    private final Duration[] levels;
    private final List<Binding> bindings = new ArrayList<>(1);

    /**
     * Binds without additional tags, for programs that need not distinguish servers and clients.
     *
     * @param metrics those of a client, or those that the codecs of a server were given
     */
    public RpcRdmaMeterBinder(RpcRdmaMetrics metrics) {
        this(metrics, Tags.empty());
    }

    /**
     * Binds with additional tags.
     *
     * @param metrics those of a client, or those that the codecs of a server were given
     * @param tags for every meter, such as a name for what the connections are for; never addresses of peers, of which
     *     there may be any number. A registry of Prometheus wants the same keys in all binders
     * @param serviceLevels bounds of histogram buckets of all timers, the same in all binders of one registry; none
     *     unless given here or by a {@code MeterFilter}
     */
    public RpcRdmaMeterBinder(
            RpcRdmaMetrics metrics, Iterable<Tag> tags, Duration... serviceLevels) {
        this.metrics = Objects.requireNonNull(metrics, "metrics");
        this.tags = Tags.of(Objects.requireNonNull(tags, "tags"));
        this.levels = serviceLevels.clone();
    }

    /**
     * Registers all meters; nothing happens when these metrics are bound with these tags already.
     *
     * @throws IllegalArgumentException if another binder has bound metrics to this registry with other service levels
     */
    @Override
    public synchronized void bindTo(MeterRegistry registry) {
        MeterTimers.fixBuckets(registry, levels);
        AggregatedMeterGroup<RpcRdmaMetrics> group =
                AggregatedMeterGroup.of(registry, RpcRdmaMeterTable.TABLE, tags);
        if (group.add(metrics)) {
            MeterTimers timers = new MeterTimers(registry, tags, levels);
            metrics.addListener(timers);
            bindings.add(new Binding(group, timers));
        }
    }

    /**
     * Unbinds, after all connections have ended: the registries keep the counts so far, and later counts are not
     * registered.
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
