// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.distribution.ValueAtPercentile;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/** What the requester's meters say about a run. */
final class DemoTable {

    private final MeterRegistry meters;

    DemoTable(MeterRegistry meters) {
        this.meters = meters;
    }

    /**
     * @param bytes of the file
     * @param seconds of all calls, those before and after the copying included
     */
    void print(PrintWriter out, long bytes, double putSeconds, double getSeconds, double seconds) {
        double calls = count("calls.sent");
        row(out, "calls", "%,.0f", calls);
        row(out, "  short messages", "%,.0f", count("short.messages"));
        row(out, "  calls with a Read chunk", "%,.0f", count("read.chunk.calls"));
        row(out, "  calls with a Write chunk", "%,.0f", count("write.chunk.calls"));
        row(out, "  calls with a Reply chunk", "%,.0f", count("reply.chunk.calls"));
        row(out, "  long calls", "%,.0f", count("long.calls"));
        row(out, "  long replies", "%,.0f", count("long.replies"));
        row(out, "bytes inline", "%,.0f", count("inline.bytes"));
        row(out, "bytes placed directly here", "%,.0f", count("placed.bytes"));
        row(out, "bytes copied", "%,.0f", count("copied.bytes"));
        row(out, "calls per second", "%,.0f", calls / seconds);
        row(out, "MB/s WRITE by Read chunks", "%,.0f", bytes / putSeconds / 1e6);
        row(out, "MB/s READ by Write chunks", "%,.0f", bytes / getSeconds / 1e6);
        Timer latency = meters.get("rpcrdma.call.latency").timer();
        for (ValueAtPercentile value : latency.takeSnapshot().percentileValues()) {
            String name = String.format(Locale.ROOT, "latency p%.0f", value.percentile() * 100);
            row(out, name, "%,.0f µs", value.value(TimeUnit.MICROSECONDS));
        }
        row(out, "credits granted", "%,.0f", meters.get("rpcrdma.credits.granted").gauge().value());
        row(out, "remote invalidations", "%,.0f", count("remote.invalidations"));
    }

    private double count(String name) {
        return meters.get("rpcrdma." + name).functionCounter().count();
    }

    private static void row(PrintWriter out, String name, String format, double value) {
        out.println(
                String.format(Locale.ROOT, "%-28s", name)
                        + String.format(Locale.ROOT, format, value));
    }
}
