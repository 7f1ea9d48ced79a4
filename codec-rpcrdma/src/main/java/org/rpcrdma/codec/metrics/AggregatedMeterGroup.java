// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.metrics;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * Meters of one table under one set of tags in one registry: sums over all bound objects. A registry ignores a second
 * meter of the same name and tags, so all objects share one group.
 *
 * @param <T> type of the bound objects
 */
final class AggregatedMeterGroup<T> {

    private record Key(MeterTable<?> table, Tags tags) {}

    /** As long as there is the registry; nothing of a group may keep it. */
    private static final Map<MeterRegistry, Map<Key, AggregatedMeterGroup<?>>> GROUPS =
            new WeakHashMap<>();

    private final List<MeterTable.Row<T>> rows;
    private final List<T> members = new ArrayList<>();

    /** Counts of former members. */
    private final double[] left;

    private AggregatedMeterGroup(MeterTable<T> table) {
        rows = table.rows();
        left = new double[rows.size()];
    }

    /** The group of a registry, a table and tags; its meters are registered when there was none. */
    @SuppressWarnings("unchecked") // of the table that it was made for
    static <T> AggregatedMeterGroup<T> of(MeterRegistry registry, MeterTable<T> table, Tags tags) {
        synchronized (GROUPS) {
            return (AggregatedMeterGroup<T>)
                    GROUPS.computeIfAbsent(registry, r -> new HashMap<>())
                            .computeIfAbsent(
                                    new Key(table, tags),
                                    key -> {
                                        AggregatedMeterGroup<T> group =
                                                new AggregatedMeterGroup<>(table);
                                        group.register(registry, tags);
                                        return group;
                                    });
        }
    }

    private void register(MeterRegistry registry, Tags common) {
        for (int i = 0; i < rows.size(); i++) {
            MeterTable.Row<T> row = rows.get(i);
            MeterTable.Family family = row.family();
            Tags tags =
                    family.kind() == MeterTable.Kind.JVM_GAUGE
                            ? row.tags()
                            : common.and(row.tags());
            int index = i;
            switch (family.kind()) {
                case COUNTER ->
                        FunctionCounter.builder(family.name(), this, group -> group.sum(index))
                                .description(family.description())
                                .baseUnit(family.unit())
                                .tags(tags)
                                .register(registry);
                case GAUGE, GREATEST_GAUGE ->
                        Gauge.builder(family.name(), this, group -> group.value(index))
                                .description(family.description())
                                .baseUnit(family.unit())
                                .tags(tags)
                                .register(registry);
                case JVM_GAUGE ->
                        // The registry would forget it with the group that came first.
                        Gauge.builder(family.name(), () -> row.value().applyAsDouble(null))
                                .description(family.description())
                                .baseUnit(family.unit())
                                .tags(tags)
                                .register(registry);
                case TIMER -> {
                    // MeterTimers registers them, with the tags that a measured time has.
                }
            }
        }
    }

    /** Adds a member; returns {@code false} if it is one already. */
    synchronized boolean add(T object) {
        boolean isNew = members.stream().noneMatch(member -> member == object);
        if (isNew) {
            members.add(object);
        }
        return isNew;
    }

    /** Removes a member, and keeps its counts. */
    synchronized void remove(T object) {
        if (!members.removeIf(member -> member == object)) {
            return;
        }
        for (int i = 0; i < left.length; i++) {
            MeterTable.Row<T> row = rows.get(i);
            if (row.family().kind() == MeterTable.Kind.COUNTER) {
                left[i] += row.value().applyAsDouble(object);
            }
        }
    }

    private synchronized double value(int index) {
        MeterTable.Row<T> row = rows.get(index);
        if (row.family().kind() != MeterTable.Kind.GREATEST_GAUGE) {
            return sum(index);
        }
        double greatest = 0;
        for (T member : members) {
            greatest = Math.max(greatest, row.value().applyAsDouble(member));
        }
        return greatest;
    }

    private synchronized double sum(int index) {
        double sum = left[index];
        for (T member : members) {
            sum += rows.get(index).value().applyAsDouble(member);
        }
        return sum;
    }
}
