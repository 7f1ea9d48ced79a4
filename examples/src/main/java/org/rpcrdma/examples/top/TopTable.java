// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.top;

import java.io.PrintWriter;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.rpcrdma.examples.top.Scrape.Sample;

/** What has happened between two scrapes of one server. */
public final class TopTable {

    private static final String DURATION = "rpcrdma_call_duration_seconds";
    private static final double MILLION = 1e6;
    private static final double MEBIBYTE = 1 << 20;

    private final Scrape before;
    private final Scrape after;
    private final double seconds;

    /**
     * Counters that are less than before, because the server has started anew, are taken from 0.
     *
     * @param seconds between the two, more than 0
     */
    public TopTable(Scrape before, Scrape after, double seconds) {
        this.before = before;
        this.after = after;
        this.seconds = seconds;
    }

    /**
     * Prints it.
     *
     * @param server its name in the first line
     */
    public void print(PrintWriter out, String server) {
        boolean hasCalls = after.has("rpcrdma_calls_total");
        if (hasCalls) {
            printCalls(out, server);
        } else {
            out.printf(Locale.ROOT, "%s   %,.0f channels%n", server, after.sum("rdma_channels"));
        }
        printLoops(out);
        if (after.has("rdma_streams_opened_total") && after.sum("rdma_streams_opened_total") > 0) {
            printStreams(out);
        }
        if (hasCalls) {
            printTrouble(out);
            printProcedures(out);
        }
        if (!after.missing().isEmpty()) {
            out.println(
                    "no such calls yet, or another version of the server: "
                            + String.join(", ", after.missing()));
        }
        out.flush();
    }

    private void printCalls(PrintWriter out, String server) {
        out.printf(
                Locale.ROOT,
                "%s   %,.0f calls/s, %,.0f in flight, the oldest for %,.1f s, %,.0f waiting for a"
                        + " credit, %,.0f credits, %,.0f connections%n",
                server,
                rate("rpcrdma_calls_total"),
                after.sum("rpcrdma_calls_active"),
                after.greatest("rpcrdma_calls_oldest_seconds"),
                after.sum("rpcrdma_calls_waiting"),
                after.sum("rpcrdma_credits"),
                after.sum("rpcrdma_connections"));
        out.printf(
                Locale.ROOT,
                "MB/s      inline %,.1f   RDMA Write %,.1f   RDMA Read %,.1f   copied %,.1f%n",
                megabytes("rpcrdma_inline_bytes_total"),
                megabytes("rpcrdma_write_bytes_total"),
                megabytes("rpcrdma_read_bytes_total"),
                megabytes("rpcrdma_copied_bytes_total"));
    }

    private void printLoops(PrintWriter out) {
        out.printf(
                Locale.ROOT,
                "loops     busy %.2f CPUs   stalls %,.0f   memory %,.1f MiB used, %,.1f registered,"
                        + " %,.1f at most   refused %,.0f%n",
                rate("rdma_loop_time_seconds_total"),
                grown("rdma_loop_stalls_total"),
                after.sum("rdma_memory_used_bytes") / MEBIBYTE,
                after.sum("rdma_memory_registered_bytes") / MEBIBYTE,
                after.sum("rdma_memory_limit_bytes") / MEBIBYTE,
                grown("rdma_memory_refusals_total"));
    }

    private void printStreams(PrintWriter out) {
        out.printf(
                Locale.ROOT,
                "streams   %,.0f open, %,.0f half-closed, %,.0f waiting for their peer, %,.0f"
                        + " credits   in %,.1f MB/s, out %,.1f   waited %,.2f s/s   reset %,.0f, by"
                        + " peers %,.0f%n",
                after.sum("rdma_streams"),
                after.sum("rdma_streams_halfclosed"),
                after.sum("rdma_streams_waiting"),
                after.sum("rdma_stream_credits"),
                rate("rdma_stream_traffic_bytes_total", TopTable::isIn) / MILLION,
                rate("rdma_stream_traffic_bytes_total", TopTable::isOut) / MILLION,
                rate("rdma_stream_wait_seconds_total"),
                grown("rdma_streams_closed_total", TopTable::isReset),
                grown("rdma_streams_closed_total", TopTable::isResetByPeer));
    }

    private void printTrouble(PrintWriter out) {
        out.printf(
                Locale.ROOT,
                "trouble   calls failed %,.0f   errors sent %,.0f   messages dropped %,.0f  "
                        + " connections lost %,.0f, cut %,.0f%n%n",
                grown("rpcrdma_calls_failed_total"),
                grown("rpcrdma_errors_sent_total"),
                grown("rpcrdma_messages_dropped_total"),
                grown(
                        "rpcrdma_connections_closed_total",
                        sample -> sample.label("reason").equals("lost")),
                grown("rpcrdma_connections_cut_total"));
    }

    private void printProcedures(PrintWriter out) {
        out.printf(
                Locale.ROOT,
                "%-28s %-10s %12s %12s %12s%n",
                "procedure",
                "role",
                "calls/s",
                "mean µs",
                "p99 µs below");
        Map<String, Double> calls = grownBy(DURATION + "_count", TopTable::row);
        Map<String, Double> times = grownBy(DURATION + "_sum", TopTable::row);
        Map<String, TreeMap<Double, Double>> buckets = new HashMap<>();
        grownBy(DURATION + "_bucket", sample -> new Bucket(row(sample), bound(sample)))
                .forEach(
                        (bucket, grown) ->
                                buckets.computeIfAbsent(bucket.row(), row -> new TreeMap<>())
                                        .put(bucket.bound(), grown));
        Comparator<String> byCalls = Comparator.comparingDouble(row -> -calls.get(row));
        for (String row : calls.keySet().stream().sorted(byCalls.thenComparing(r -> r)).toList()) {
            double count = calls.get(row);
            out.printf(
                    Locale.ROOT,
                    "%s %,12.0f %12s %12s%n",
                    row,
                    count / seconds,
                    count == 0 ? "-" : micros(times.getOrDefault(row, 0.0) / count),
                    count == 0 ? "-" : percentile(buckets.get(row), count));
        }
    }

    private record Bucket(String row, double bound) {}

    private static String row(Sample sample) {
        return String.format(
                Locale.ROOT,
                "%-28s %-10s",
                sample.printable("procedure"),
                sample.printable("role"));
    }

    /** The bound of the histogram's bucket that 99 of 100 calls are within; {@code -} where there is no histogram. */
    private static String percentile(SortedMap<Double, Double> buckets, double calls) {
        if (buckets != null) {
            for (Map.Entry<Double, Double> bucket : buckets.entrySet()) {
                if (bucket.getValue() >= 0.99 * calls) {
                    double bound = bucket.getKey();
                    return bound == Double.POSITIVE_INFINITY ? "more" : micros(bound);
                }
            }
        }
        return "-";
    }

    private static double bound(Sample bucket) {
        return Scrape.number(bucket.label("le"));
    }

    private static String micros(double seconds) {
        return String.format(Locale.ROOT, "%,.0f", seconds * MILLION);
    }

    private double megabytes(String name) {
        return rate(name) / MILLION;
    }

    private double rate(String name) {
        return grown(name) / seconds;
    }

    private double rate(String name, Predicate<Sample> wanted) {
        return grown(name, wanted) / seconds;
    }

    private double grown(String name) {
        return grown(name, sample -> true);
    }

    private double grown(String name, Predicate<Sample> wanted) {
        return grown(before.sum(name, wanted), after.sum(name, wanted));
    }

    private static double grown(double then, double now) {
        return now < then ? now : now - then;
    }

    /** For each key that there is now. */
    private <K> Map<K, Double> grownBy(String name, Function<Sample, K> key) {
        Map<K, Double> then = sumsBy(before, name, key);
        Map<K, Double> now = sumsBy(after, name, key);
        now.replaceAll((each, sum) -> grown(then.getOrDefault(each, 0.0), sum));
        return now;
    }

    private static <K> Map<K, Double> sumsBy(Scrape scrape, String name, Function<Sample, K> key) {
        return scrape.samples(name).stream()
                .collect(Collectors.groupingBy(key, Collectors.summingDouble(Sample::value)));
    }

    private static boolean isIn(Sample sample) {
        return sample.label("direction").equals("in");
    }

    private static boolean isOut(Sample sample) {
        return sample.label("direction").equals("out");
    }

    private static boolean isReset(Sample sample) {
        return sample.label("reason").equals("reset");
    }

    private static boolean isResetByPeer(Sample sample) {
        return sample.label("reason").equals("reset_by_peer");
    }
}
