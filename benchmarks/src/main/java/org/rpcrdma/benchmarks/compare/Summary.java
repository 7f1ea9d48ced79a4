// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import java.util.List;
import java.util.Locale;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;

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
                "Round trip, divided by the baseline's (less is better)",
                Work::isRoundTrip,
                Window::medianMicros,
                "us");
        ratios(
                "Calls a second, divided by the baseline's (more is better)",
                Work::isPipelined,
                Window::callsPerSecond,
                "/s");
        return to.toString();
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
