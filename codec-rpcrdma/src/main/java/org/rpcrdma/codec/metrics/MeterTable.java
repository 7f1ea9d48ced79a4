// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.metrics;

import io.micrometer.core.instrument.Tags;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/**
 * The one list of the meters of a kind of object: what a binder registers, and what docs/metrics.md says about it.
 *
 * @param <T> what is read
 */
abstract class MeterTable<T> {

    /** What kind of meter it is; timers are fed by a listener, the others are read. */
    enum Kind {
        COUNTER,
        GAUGE,
        TIMER
    }

    /**
     * What all meters of a name have in common.
     *
     * @param unit of Micrometer's kind; {@code null} for timers, where the registry chooses
     */
    record Family(String name, Kind kind, String unit, String description) {}

    /**
     * One meter.
     *
     * @param value {@code null} for timers
     * @param client what comes nearest at a Linux client; empty when there is nothing
     * @param server as {@code client}, at a Linux server
     */
    record Row<T>(
            Family family, Tags tags, ToDoubleFunction<T> value, String client, String server) {}

    private final List<Row<T>> rows = new ArrayList<>();
    private Family family;

    final List<Row<T>> rows() {
        return rows;
    }

    final Family family(String name) {
        return rows.stream()
                .map(Row::family)
                .filter(f -> f.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    // ------------------------------------------------------------------ for those who fill it

    final void family(String name, Kind kind, String unit, String description) {
        family = new Family(name, kind, unit, description);
    }

    final void counters(String name, String unit, String description) {
        family(name, Kind.COUNTER, unit, description);
    }

    final void gauges(String name, String unit, String description) {
        family(name, Kind.GAUGE, unit, description);
    }

    final void row(Tags tags, ToDoubleFunction<T> value, String client, String server) {
        rows.add(new Row<>(family, tags, value, client, server));
    }

    static Tags tag(String key, String value) {
        return Tags.of(key, value);
    }

    static String nameOf(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }
}
