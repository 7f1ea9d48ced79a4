// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.metrics;

import io.micrometer.core.instrument.Tags;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.DoubleSupplier;
import java.util.function.ToDoubleFunction;

/**
 * List of the meters of one kind of object, from which binders register meters and docs/metrics.md is generated.
 *
 * @param <T> what is read
 */
abstract class MeterTable<T> {

    /** Kind of a meter. A listener feeds timers; the others are read. */
    enum Kind {
        COUNTER,
        GAUGE,
        /** A gauge of which the greatest value counts, in the place of the sum. */
        GREATEST_GAUGE,
        /** A gauge of the whole JVM: registered once, without the tags of a binder, and never added up. */
        JVM_GAUGE,
        TIMER
    }

    /** Units of Micrometer: Prometheus puts them behind the name, so that no other unit is worth its letters there. */
    static final String BYTES = "bytes";

    static final String SECONDS = "seconds";

    /**
     * Name, kind, unit and description of all meters of one name.
     *
     * @param unit {@link #BYTES} or {@link #SECONDS}; {@code null} for plain numbers, and for timers, whose unit the
     *     registry chooses
     * @param description sentences, of which the first begins with what the meter does: a counter "Counts", a gauge
     *     "Shows", a timer or a counter of seconds "Measures"
     */
    record Family(String name, Kind kind, String unit, String description) {}

    /**
     * One meter.
     *
     * @param value {@code null} for timers
     * @param client the nearest counter of a Linux client; empty for none
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

    private void family(String name, Kind kind, String unit, String description) {
        family = new Family(name, kind, unit, description);
    }

    final void counters(String name, String description) {
        family(name, Kind.COUNTER, null, description);
    }

    final void byteCounters(String name, String description) {
        family(name, Kind.COUNTER, BYTES, description);
    }

    final void secondCounters(String name, String description) {
        family(name, Kind.COUNTER, SECONDS, description);
    }

    final void gauges(String name, String description) {
        family(name, Kind.GAUGE, null, description);
    }

    final void byteGauges(String name, String description) {
        family(name, Kind.GAUGE, BYTES, description);
    }

    /** Gauges of seconds, of which the greatest counts. */
    final void greatestSecondGauges(String name, String description) {
        family(name, Kind.GREATEST_GAUGE, SECONDS, description);
    }

    final void timers(String name, String description) {
        family(name, Kind.TIMER, null, description);
    }

    /** A gauge of bytes that has one value in the whole JVM. */
    final void jvmByteGauge(String name, String description, DoubleSupplier value) {
        family(name, Kind.JVM_GAUGE, BYTES, description);
        row(Tags.empty(), object -> value.getAsDouble(), "", "");
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
