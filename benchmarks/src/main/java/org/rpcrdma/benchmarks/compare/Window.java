// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import org.HdrHistogram.Histogram;

/**
 * What one transport did in one window of time.
 *
 * @param calls answered
 * @param nanos that it took
 * @param median latency of a call in nanoseconds, as the others
 * @param client what the client's process has used
 * @param server what the server's process has used; the client's own where both are one
 */
record Window(
        long calls,
        long nanos,
        long median,
        long p90,
        long p99,
        long p999,
        long maximum,
        Cost client,
        Cost server) {

    /** Where others have used more of one CPU than this and these nanoseconds, a window tells of the machine. */
    private static final double OTHERS_SHARE = 0.05;

    private static final long OTHERS_LEAST = 20_000_000;

    /** Compilers that use more of one CPU than this and these nanoseconds will change the code of their process. */
    private static final double COMPILERS_SHARE = 0.05;

    private static final long COMPILERS_LEAST = 10_000_000;

    static Window of(long calls, long nanos, Histogram latencies, Cost client) {
        return new Window(
                calls,
                nanos,
                latencies.getValueAtPercentile(50),
                latencies.getValueAtPercentile(90),
                latencies.getValueAtPercentile(99),
                latencies.getValueAtPercentile(99.9),
                latencies.getMaxValue(),
                client,
                null);
    }

    Window with(Cost ofServer) {
        return new Window(calls, nanos, median, p90, p99, p999, maximum, client, ofServer);
    }

    /** Whether others have used the CPUs meanwhile; where the system tells it. */
    boolean isDisturbed() {
        return client.machineNanos() - client.cpuNanos() - server.cpuNanos()
                > nanos * OTHERS_SHARE + OTHERS_LEAST;
    }

    /** Whether the code of neither process was compiled anew, but for what little always is. */
    boolean isCompiled() {
        return Math.max(client.compilerNanos(), server.compilerNanos())
                <= nanos * COMPILERS_SHARE + COMPILERS_LEAST;
    }

    double callsPerSecond() {
        return calls * 1e9 / nanos;
    }

    double medianMicros() {
        return median / 1e3;
    }

    /** Of both processes. */
    double cpuMicrosPerCall() {
        return (client.cpuNanos() + server.cpuNanos()) / 1e3 / calls;
    }

    /** Of all threads of both processes. */
    double allocatedBytesPerCall() {
        return (double) (client.allocatedBytes() + server.allocatedBytes()) / calls;
    }

    /** Reads and writes of both processes; see {@link Cost#systemCalls}. */
    double systemCallsPerCall() {
        return (double) (client.systemCalls() + server.systemCalls()) / calls;
    }

    /** Of both processes; see {@link Cost#pageFaults}. */
    double pageFaultsPerCall() {
        return (double) (client.pageFaults() + server.pageFaults()) / calls;
    }
}
