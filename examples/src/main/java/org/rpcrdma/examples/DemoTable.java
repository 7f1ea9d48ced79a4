// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.PrintWriter;
import java.util.Locale;
import org.HdrHistogram.SynchronizedHistogram;
import org.rpcrdma.codec.RpcRdmaCallOutcome;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.RpcRdmaLatencyListener;
import org.rpcrdma.codec.RpcRdmaMetrics;
import org.rpcrdma.codec.RpcRdmaRole;

/** What the requester has counted and measured in a run. */
final class DemoTable implements RpcRdmaLatencyListener {

    private final RpcRdmaMetrics metrics;
    private final SynchronizedHistogram nanos = new SynchronizedHistogram(3);

    /** Measures from now on. */
    DemoTable(RpcRdmaMetrics metrics) {
        this.metrics = metrics;
        metrics.addListener(this);
    }

    @Override
    public void callEnded(
            RpcRdmaRole role, String procedure, RpcRdmaCallOutcome outcome, long time) {
        nanos.recordValue(time);
    }

    /**
     * @param bytes of the file
     * @param seconds of all calls, those before and after the copying included
     */
    void print(PrintWriter out, long bytes, double putSeconds, double getSeconds, double seconds) {
        double calls = metrics.value(RpcRdmaCounter.CALLS_SENT);
        row(out, "calls", "%,.0f", calls);
        count(out, "  short messages", RpcRdmaCounter.SHORT_MESSAGES);
        count(out, "  calls with a Read chunk", RpcRdmaCounter.READ_CHUNK_CALLS);
        count(out, "  calls with a Write chunk", RpcRdmaCounter.WRITE_CHUNK_CALLS);
        count(out, "  calls with a Reply chunk", RpcRdmaCounter.REPLY_CHUNK_CALLS);
        count(out, "  long calls", RpcRdmaCounter.LONG_CALLS);
        count(out, "  long replies", RpcRdmaCounter.LONG_REPLIES);
        count(out, "bytes inline", RpcRdmaCounter.INLINE_BYTES);
        count(out, "bytes written here by RDMA", RpcRdmaCounter.WRITE_BYTES_RECEIVED);
        count(out, "bytes copied", RpcRdmaCounter.COPIED_BYTES);
        row(out, "calls per second", "%,.0f", calls / seconds);
        row(out, "MB/s WRITE by Read chunks", "%,.0f", bytes / putSeconds / 1e6);
        row(out, "MB/s READ by Write chunks", "%,.0f", bytes / getSeconds / 1e6);
        for (int percent : new int[] {50, 99}) {
            double micros = nanos.getValueAtPercentile(percent) / 1e3;
            row(out, "latency p" + percent, "%,.0f µs", micros);
        }
        row(out, "credits granted", "%,.0f", (double) metrics.creditsGranted());
        count(out, "remote invalidations", RpcRdmaCounter.REMOTE_INVALIDATIONS);
    }

    private void count(PrintWriter out, String name, RpcRdmaCounter counter) {
        row(out, name, "%,.0f", (double) metrics.value(counter));
    }

    private static void row(PrintWriter out, String name, String format, double value) {
        out.println(
                String.format(Locale.ROOT, "%-28s", name)
                        + String.format(Locale.ROOT, format, value));
    }
}
