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
 * Meters of one table under one set of tags in one registry: the sums over all objects that were bound to it. A
 * registry knows a meter by name and tags, and forgets a second one of the same: so there is one, for all.
 *
 * @param <T> what is read
 */
final class MeterGroup<T> {

    private record Key(MeterTable<?> table, Tags tags) {}

    /** As long as there is the registry; nothing of a group may keep it. */
    private static final Map<MeterRegistry, Map<Key, MeterGroup<?>>> GROUPS = new WeakHashMap<>();

    private final List<MeterTable.Row<T>> rows;
    private final List<T> members = new ArrayList<>();

    /** What those have counted that are no members any more. */
    private final double[] left;

    private MeterGroup(MeterTable<T> table) {
        rows = table.rows();
        left = new double[rows.size()];
    }

    /** The group of a registry, a table and tags; its meters are registered when there was none. */
    @SuppressWarnings("unchecked") // of the table that it was made for
    static <T> MeterGroup<T> of(MeterRegistry registry, MeterTable<T> table, Tags tags) {
        synchronized (GROUPS) {
            return (MeterGroup<T>)
                    GROUPS.computeIfAbsent(registry, r -> new HashMap<>())
                            .computeIfAbsent(
                                    new Key(table, tags),
                                    key -> {
                                        MeterGroup<T> group = new MeterGroup<>(table);
                                        group.register(registry, tags);
                                        return group;
                                    });
        }
    }

    private void register(MeterRegistry registry, Tags common) {
        for (int i = 0; i < rows.size(); i++) {
            MeterTable.Row<T> row = rows.get(i);
            MeterTable.Family family = row.family();
            Tags tags = common.and(row.tags());
            int index = i;
            switch (family.kind()) {
                case COUNTER ->
                        FunctionCounter.builder(family.name(), this, group -> group.sum(index))
                                .description(family.description())
                                .baseUnit(family.unit())
                                .tags(tags)
                                .register(registry);
                case GAUGE ->
                        Gauge.builder(family.name(), this, group -> group.sum(index))
                                .description(family.description())
                                .baseUnit(family.unit())
                                .tags(tags)
                                .register(registry);
                case TIMER -> {
                    // Registered by whoever feeds them, with the tags that a time has.
                }
            }
        }
    }

    /** Returns whether it was no member yet. */
    synchronized boolean add(T object) {
        boolean isNew = members.stream().noneMatch(member -> member == object);
        if (isNew) {
            members.add(object);
        }
        return isNew;
    }

    /** What it has counted stays. */
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

    private synchronized double sum(int index) {
        double sum = left[index];
        for (T member : members) {
            sum += rows.get(index).value().applyAsDouble(member);
        }
        return sum;
    }
}
