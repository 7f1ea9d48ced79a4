// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/**
 * What transports do in the first seconds of new processes, a client and a server each time, in turns: alone, and
 * beside busy processes.
 */
final class ColdComparison {

    private static final int[] OUTSTANDING = {1, 16};

    /**
     * @param outstanding calls
     * @param isLoaded whether other processes are busy
     */
    record Condition(int outstanding, boolean isLoaded) {
        @Override
        public String toString() {
            return outstanding + " out" + (isLoaded ? ", beside busy processes" : "");
        }
    }

    /**
     * @param firstMillis from the start of the client's JVM to the reply to its first call
     * @param cpuMillis that the client's process has used until then
     * @param calls in all of the time
     * @param perInterval calls in each {@link ColdCaller#INTERVAL_MILLIS} of it
     */
    record Start(double firstMillis, double cpuMillis, double calls, List<Double> perInterval) {

        /** Calls in the last third of the time. */
        double lastCalls() {
            return perInterval.stream()
                    .skip(perInterval.size() - perInterval.size() / 3)
                    .mapToDouble(Double::doubleValue)
                    .sum();
        }
    }

    private final List<String> transports;
    private final int rounds;
    private final long millis;
    private final int busyProcesses;
    private final List<String> jvmArguments;
    private final Map<Condition, Map<String, List<Start>>> found = new LinkedHashMap<>();

    /**
     * @param transports the last one is what ratios are against
     * @param millis how long a client makes calls
     * @param busyProcesses beside which all of it is done once more
     */
    ColdComparison(
            List<String> transports,
            int rounds,
            long millis,
            int busyProcesses,
            List<String> jvmArguments) {
        this.transports = transports;
        this.rounds = rounds;
        this.millis = millis;
        this.busyProcesses = busyProcesses;
        this.jvmArguments = jvmArguments;
    }

    ColdComparison run() throws IOException {
        for (boolean isLoaded : new boolean[] {false, true}) {
            List<ColdProcess> others = new ArrayList<>();
            try {
                for (int i = 0; isLoaded && i < busyProcesses; i++) {
                    ColdProcess other = new ColdProcess(List.of("-XX:TieredStopAtLevel=1"), "BUSY");
                    others.add(other);
                    other.line();
                }
                List<String> order = new ArrayList<>(transports);
                for (int round = 0; round < rounds; round++) {
                    for (int outstanding : OUTSTANDING) {
                        start(new Condition(outstanding, isLoaded), order);
                    }
                    Collections.rotate(order, 1);
                }
            } finally {
                others.forEach(ColdProcess::close);
            }
        }
        return this;
    }

    private void start(Condition condition, List<String> order) throws IOException {
        System.err.println("compare: " + condition);
        Map<String, List<Start>> starts =
                found.computeIfAbsent(condition, each -> new LinkedHashMap<>());
        for (String transport : order) {
            starts.computeIfAbsent(transport, each -> new ArrayList<>())
                    .add(start(transport, condition.outstanding()));
        }
    }

    private Start start(String transport, int outstanding) throws IOException {
        try (ColdProcess server = new ColdProcess(jvmArguments, transport);
                ColdProcess client =
                        new ColdProcess(
                                jvmArguments,
                                transport,
                                server.line(),
                                Integer.toString(outstanding),
                                Long.toString(millis))) {
            List<Double> figures =
                    Arrays.stream(client.line().split(" ", -1)).map(Double::valueOf).toList();
            return new Start(
                    figures.get(0),
                    figures.get(1),
                    figures.get(2),
                    figures.subList(3, figures.size()));
        }
    }

    /** Of each condition, the starts of each transport. */
    Map<Condition, Map<String, List<Start>>> found() {
        return found;
    }

    /** Tables in Markdown: medians, and ratios round by round. */
    String text() {
        StringBuilder text = new StringBuilder(64);
        found.forEach(
                (condition, starts) -> {
                    text.append("\n### NULL, ").append(condition).append("\n\n");
                    text.append(
                            String.format(
                                    Locale.ROOT,
                                    "|  | first call, ms | its CPU time, ms | calls in %.1f s | of"
                                            + " these in the last third |%n"
                                            + "| --- | --- | --- | --- | --- |%n",
                                    millis / 1e3));
                    for (String transport : transports) {
                        row(text, transport, starts.get(transport), null);
                    }
                    for (String other : transports.subList(1, transports.size())) {
                        row(
                                text,
                                transports.get(0) + " / " + other,
                                starts.get(transports.get(0)),
                                starts.get(other));
                    }
                });
        return text.toString();
    }

    private static void row(
            StringBuilder text, String name, List<Start> starts, List<Start> others) {
        text.append("| ").append(name).append(" |");
        List<ToDoubleFunction<Start>> figures =
                List.of(Start::firstMillis, Start::cpuMillis, Start::calls, Start::lastCalls);
        for (ToDoubleFunction<Start> figure : figures) {
            double[] all = new double[starts.size()];
            for (int i = 0; i < all.length; i++) {
                all[i] = figure.applyAsDouble(starts.get(i));
                if (others != null) {
                    all[i] /= figure.applyAsDouble(others.get(i));
                }
            }
            Spread spread = Spread.of(Arrays.stream(all));
            text.append(' ')
                    .append(
                            others == null
                                    ? String.format(Locale.ROOT, "%.0f", spread.median())
                                    : spread)
                    .append(" |");
        }
        text.append('\n');
    }
}
