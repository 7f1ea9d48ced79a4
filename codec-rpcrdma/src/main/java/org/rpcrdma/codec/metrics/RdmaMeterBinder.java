// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.metrics;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.rpcrdma.channel.RdmaEventLoopGroup;

/**
 * Binds event loops, their registered memory and their devices to Micrometer registries; docs/metrics.md lists
 * the meters. Any number of groups may be bound to any number of registries: those with the same tags are added
 * up. Thread-safe.
 */
public final class RdmaMeterBinder implements MeterBinder, AutoCloseable {

    private final RdmaEventLoopGroup loops;
    private final Tags tags;
    private final List<MeterGroup<RdmaEventLoopGroup>> groups = new ArrayList<>(1);

    /**
     * Binds without tags of its own.
     *
     * @param loops whose connections, memory and devices are measured, together
     */
    public RdmaMeterBinder(RdmaEventLoopGroup loops) {
        this(loops, Tags.empty());
    }

    /**
     * Binds with tags of its own.
     *
     * @param loops whose connections, memory and devices are measured, together
     * @param tags for every meter
     */
    public RdmaMeterBinder(RdmaEventLoopGroup loops, Iterable<Tag> tags) {
        this.loops = Objects.requireNonNull(loops, "loops");
        this.tags = Tags.of(Objects.requireNonNull(tags, "tags"));
    }

    /** Registers all meters; nothing happens when these loops are bound with these tags already. */
    @Override
    public synchronized void bindTo(MeterRegistry registry) {
        MeterGroup<RdmaEventLoopGroup> group = MeterGroup.of(registry, RdmaMeters.TABLE, tags);
        if (group.add(loops)) {
            groups.add(group);
        }
    }

    /** Ends what {@link #bindTo} has begun, when the loops are shut down: what they have counted stays. */
    @Override
    public synchronized void close() {
        groups.forEach(group -> group.remove(loops));
        groups.clear();
    }
}
