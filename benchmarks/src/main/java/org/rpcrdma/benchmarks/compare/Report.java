// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import java.util.List;
import java.util.Locale;

/** A comparison as tables in Markdown, which read well as plain text. */
final class Report {

    private static final double MEGA = 1e6;

    private Report() {}

    static String text(Comparison comparison) {
        StringBuilder to = new StringBuilder();
        to.append('\n').append(machine(comparison)).append('\n');
        for (Work work : comparison.works()) {
            Row baseline = comparison.baseline(work);
            to.append(
                    String.format(
                            "%n### %s%n%n| transport | latency, us | ratio | calls/s | MB/s | ratio"
                                    + " | p99, us | CPU, us a call | heap, bytes a call | reads and"
                                    + " writes a call | page faults a call |%n|%s|%n",
                            heading(work), " --- |".repeat(11).replaceAll("\\|$", "")));
            for (String transport : comparison.transports()) {
                comparison.row(work, transport).ifPresent(row -> to.append(line(row, baseline)));
            }
        }
        return to.toString();
    }

    private static String heading(Work work) {
        return work.load() == 0
                ? work.label()
                : work.label() + " (" + Summary.number((double) work.rate()) + " calls/s)";
    }

    /** Where and how it was measured, in two lines. */
    static String machine(Comparison comparison) {
        Comparison.Machine machine = comparison.machine();
        List<Window> windows =
                comparison.rows().stream().flatMap(row -> row.windows().stream()).toList();
        return String.format(
                Locale.ROOT,
                "%s%s, %d CPUs, Java %s, Netty %s.%n"
                        + "Client and server in %s. "
                        + "Ratios are against %s, median (least to greatest) of %d rounds.%n"
                        + "%d of %d windows were disturbed by others.%n",
                machine.system(),
                machine.processor().isEmpty() ? "" : ", " + machine.processor(),
                machine.cpus(),
                machine.java(),
                machine.netty(),
                comparison.inOneProcess() ? "one process" : "two processes",
                comparison.baseline(),
                comparison.rows().stream().mapToInt(row -> row.windows().size()).max().orElse(0),
                windows.stream().filter(Window::isDisturbed).count(),
                windows.size());
    }

    private static String line(Row row, Row baseline) {
        double rate = row.median(Window::callsPerSecond);
        return String.format(
                Locale.ROOT,
                "| %s | %.1f | %s | %.0f | %.0f | %s | %.1f | %.2f | %.0f | %.2f | %.2f |%n",
                row.transport(),
                row.median(Window::medianMicros),
                row.ratio(baseline, Window::medianMicros),
                rate,
                rate * row.work().bytes() / MEGA,
                row.ratio(baseline, Window::callsPerSecond),
                row.median(window -> window.p99() / 1e3),
                row.median(Window::cpuMicrosPerCall),
                row.median(Window::allocatedBytesPerCall),
                row.median(Window::systemCallsPerCall),
                row.median(Window::pageFaultsPerCall));
    }
}
