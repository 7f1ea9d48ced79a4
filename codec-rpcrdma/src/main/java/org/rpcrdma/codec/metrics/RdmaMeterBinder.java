// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.metrics;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.netty.channel.EventLoopGroup;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.rpcrdma.channel.RdmaEventLoopGroupStatistics;

/**
 * Binds event loops, their registered memory and their devices to Micrometer registries; docs/metrics.md lists
 * the meters. Any number of groups may be bound to any number of registries: those with the same tags are added
 * up. Thread-safe.
 */
public final class RdmaMeterBinder implements MeterBinder, AutoCloseable {

    private final RdmaEventLoopGroupStatistics loops;
    private final Tags tags;
    private final List<AggregatedMeterGroup<RdmaEventLoopGroupStatistics>> groups =
            new ArrayList<>(1);

    /**
     * Binds without additional tags.
     *
     * @param loops whose connections, memory and devices are measured, together: an {@link
     *     org.rpcrdma.channel.RdmaEventLoopGroup}, or a group of Netty 4.2 with RDMA as its I/O
     */
    public RdmaMeterBinder(EventLoopGroup loops) {
        this(loops, Tags.empty());
    }

    /**
     * Binds with additional tags.
     *
     * @param loops whose connections, memory and devices are measured, together: an {@link
     *     org.rpcrdma.channel.RdmaEventLoopGroup}, or a group of Netty 4.2 with RDMA as its I/O
     * @param tags for every meter
     */
    public RdmaMeterBinder(EventLoopGroup loops, Iterable<Tag> tags) {
        this.loops = RdmaEventLoopGroupStatistics.of(Objects.requireNonNull(loops, "loops"));
        this.tags = Tags.of(Objects.requireNonNull(tags, "tags"));
    }

    /** Registers all meters; nothing happens when these loops are bound with these tags already. */
    @Override
    public synchronized void bindTo(MeterRegistry registry) {
        AggregatedMeterGroup<RdmaEventLoopGroupStatistics> group =
                AggregatedMeterGroup.of(registry, EventLoopGroupMeterTable.TABLE, tags);
        if (group.add(loops)) {
            groups.add(group);
        }
    }

    /** Unbinds, after the loops were shut down; the registry keeps their counts. */
    @Override
    public synchronized void close() {
        groups.forEach(group -> group.remove(loops));
        groups.clear();
    }
}
