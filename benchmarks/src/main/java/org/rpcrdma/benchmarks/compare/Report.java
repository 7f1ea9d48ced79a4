// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import java.util.Locale;
import org.rpcrdma.benchmarks.Transport;

/** A comparison as tables in Markdown, which read well as plain text. */
final class Report {

    private static final double MEGA = 1e6;

    private Report() {}

    static String text(Comparison comparison) {
        StringBuilder to = new StringBuilder();
        Comparison.Machine machine = comparison.machine();
        to.append(
                String.format(
                        Locale.ROOT,
                        "%n%s, %d CPUs, Java %s, Netty %s; %s; ratios are against %s, median (least"
                                + " to greatest) of the rounds.%n",
                        machine.system(),
                        machine.cpus(),
                        machine.java(),
                        machine.netty(),
                        comparison.inOneProcess() ? "one process" : "two processes",
                        comparison.baseline()));
        for (Work work : comparison.works()) {
            Row baseline = comparison.row(work, comparison.baseline()).orElseThrow();
            to.append(
                    String.format(
                            "%n### %s%n%n| transport | latency, us | ratio | calls/s | MB/s | ratio"
                                    + " | p99, us | CPU, us a call | heap, bytes a call |%n|%s|%n",
                            work.label(), " --- |".repeat(9).replaceAll("\\|$", "")));
            for (Transport transport : comparison.transports()) {
                comparison.row(work, transport).ifPresent(row -> to.append(line(row, baseline)));
            }
        }
        return to.toString();
    }

    private static String line(Row row, Row baseline) {
        double rate = row.median(Window::callsPerSecond);
        return String.format(
                Locale.ROOT,
                "| %s | %.1f | %s | %.0f | %.0f | %s | %.1f | %.2f | %.0f |%n",
                row.transport(),
                row.median(Window::medianMicros),
                row.ratio(baseline, Window::medianMicros),
                rate,
                rate * row.work().bytes() / MEGA,
                row.ratio(baseline, Window::callsPerSecond),
                row.median(window -> window.p99() / 1e3),
                row.median(Window::cpuMicrosPerCall),
                row.median(Window::allocatedBytesPerCall));
    }
}
