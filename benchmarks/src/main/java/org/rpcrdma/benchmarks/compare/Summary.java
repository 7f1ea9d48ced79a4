// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import java.util.List;
import java.util.Locale;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A comparison as few tables in Markdown: a line for each transport, a column for each work. */
final class Summary {

    private final Comparison comparison;
    private final StringBuilder to = new StringBuilder();

    private Summary(Comparison comparison) {
        this.comparison = comparison;
    }

    static String text(Comparison comparison) {
        return new Summary(comparison).text();
    }

    private String text() {
        to.append(Report.machine(comparison));
        ratios(
                "RPC: round trip, divided by the baseline's (less is better)",
                work -> isRpc(work) && work.isRoundTrip(),
                Window::medianMicros,
                "us");
        ratios(
                "RPC: calls a second, divided by the baseline's (more is better)",
                work -> isRpc(work) && work.isPipelined() && work.connections() == 1,
                Window::callsPerSecond,
                "/s");
        ratios(
                "RPC on several connections: calls a second, divided by the baseline's",
                work -> isRpc(work) && work.isPipelined() && work.connections() > 1,
                Window::callsPerSecond,
                "/s");
        table(
                "Under load: p50, p99, p99.9 and most, in microseconds from when calls were due",
                work -> work.load() > 0,
                Summary::percentiles);
        ratios(
                "CPU time of a call, both ends, divided by the baseline's (less is better)",
                work -> isRpc(work) && work.load() == 0 && work.connections() == 1,
                Window::cpuMicrosPerCall,
                "us");
        table(
                "Heap, bytes allocated for a call, both ends",
                work -> isRpc(work) && work.load() == 0 && work.connections() == 1,
                row -> number(row.median(Window::allocatedBytesPerCall)));
        table(
                "Idle connections: memory of one; calls a second with them, divided by those"
                        + " without",
                work -> work.idle() > 0,
                this::idle);
        ratios(
                "Byte streams: round trip, divided by that of EPOLL_BUSY (less is better)",
                work -> !isRpc(work) && work.isRoundTrip(),
                Window::medianMicros,
                "us");
        ratios(
                "Byte streams: messages a second, divided by those of EPOLL_BUSY (more is better)",
                work -> !isRpc(work) && work.isPipelined(),
                Window::callsPerSecond,
                "/s");
        return to.toString();
    }

    static boolean isRpc(Work work) {
        return work.application() == Application.RPC;
    }

    private static String percentiles(Row row) {
        return Stream.<ToDoubleFunction<Window>>of(
                        Window::median, Window::p99, Window::p999, Window::maximum)
                .map(figure -> number(row.median(figure) / 1e3))
                .collect(Collectors.joining(" / "));
    }

    private String idle(Row row) {
        double share =
                comparison
                        .row(row.work().beside(0), row.transport())
                        .map(
                                alone ->
                                        row.median(Window::callsPerSecond)
                                                / alone.median(Window::callsPerSecond))
                        .orElse(Double.NaN);
        return String.format(Locale.ROOT, "%.1f KiB, %.2f", row.idleBytes() / 1024.0, share);
    }

    /** The baseline's own line has figures, the others have ratios. */
    private void ratios(
            String title, Predicate<Work> which, ToDoubleFunction<Window> figure, String unit) {
        table(
                title,
                which,
                row -> {
                    Row baseline = comparison.baseline(row.work());
                    return row.transport().equals(baseline.transport())
                            ? number(row.median(figure)) + ' ' + unit
                            : ratio(row, baseline, figure);
                });
    }

    private interface Cell {
        String of(Row row);
    }

    private void table(String title, Predicate<Work> which, Cell cell) {
        List<Work> works = comparison.works().stream().filter(which).toList();
        List<String> transports =
                comparison.transports().stream()
                        .filter(
                                transport ->
                                        works.stream()
                                                .anyMatch(
                                                        work ->
                                                                comparison
                                                                        .row(work, transport)
                                                                        .isPresent()))
                        .toList();
        if (transports.isEmpty()) {
            return;
        }
        to.append("\n### ").append(title).append("\n\n|  |");
        works.forEach(work -> to.append(' ').append(work.label()).append(" |"));
        to.append("\n| --- |").append(" --- |".repeat(works.size())).append('\n');
        for (String transport : transports) {
            to.append("| ").append(transport).append(" |");
            for (Work work : works) {
                to.append(' ')
                        .append(comparison.row(work, transport).map(cell::of).orElse(""))
                        .append(" |");
            }
            to.append('\n');
        }
    }

    /** In parentheses when it tells of the machine alone. */
    private static String ratio(Row row, Row baseline, ToDoubleFunction<Window> figure) {
        return String.format(
                Locale.ROOT,
                row.isComparable(baseline) ? "%.2f" : "(%.2f)",
                row.ratio(baseline, figure).median());
    }

    /** Three digits are more than can be believed. */
    static String number(double figure) {
        if (figure >= 1e6) {
            return String.format(Locale.ROOT, "%.2f M", figure / 1e6);
        }
        if (figure >= 1e4) {
            return String.format(Locale.ROOT, "%.0f k", figure / 1e3);
        }
        return String.format(Locale.ROOT, figure >= 100 ? "%.0f" : "%.1f", figure);
    }
}
