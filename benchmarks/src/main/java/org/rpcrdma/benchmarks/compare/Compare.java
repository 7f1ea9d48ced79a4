// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.rpcrdma.benchmarks.Transport;
import org.rpcrdma.benchmarks.compare.Work.Procedure;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** The command {@code benchmarks/compare}. */
@Command(
        name = "compare",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Runs the same RPC calls on several transports in turns, and shows each beside one"
                        + " of them. Figures differ between machines and hours; ratios within a run"
                        + " tell more.")
final class Compare implements Callable<Integer> {

    private static final int KIB = 1 << 10;
    private static final int MIB = 1 << 20;

    @Option(
            names = "--transports",
            split = ",",
            paramLabel = "NAME",
            description = "Which ones: ${COMPLETION-CANDIDATES}. Default: all that run here.")
    private List<Transport> transports = available();

    @Option(
            names = "--baseline",
            paramLabel = "NAME",
            description = "What ratios are against. Default: ${DEFAULT-VALUE}.")
    private Transport baseline = Transport.EPOLL_BUSY_TUNED;

    @Option(
            names = "--work",
            paramLabel = "PATTERN",
            description =
                    "Only work whose label has a match for this regular expression, such as"
                            + " 'NULL' or 'READ 4 KiB, 1 out'. Default: all.")
    private Pattern pattern = Pattern.compile("");

    @Option(
            names = "--rounds",
            paramLabel = "N",
            description = "Windows of each transport at each work. Default: ${DEFAULT-VALUE}.")
    private int rounds = 9;

    @Option(
            names = "--millis",
            paramLabel = "N",
            description = "How long a window lasts. Default: ${DEFAULT-VALUE}.")
    private long millis = 300;

    @Option(
            names = "--warm-up",
            paramLabel = "N",
            description =
                    "Milliseconds of each work on each transport before the first round. Default:"
                            + " ${DEFAULT-VALUE}.")
    private long warmUp = 1500;

    @Option(
            names = "--tries",
            paramLabel = "N",
            description =
                    "How often a window is measured at most until it had the CPUs that it wanted."
                            + " Default: ${DEFAULT-VALUE}.")
    private int tries = 3;

    @Option(names = "--smoke", description = "A short run: is everything in order?")
    private boolean isSmoke;

    @Option(
            names = "--one-process",
            description = "Client and server share a process, each with its event loop.")
    private boolean inOneProcess;

    @Option(names = "--json", paramLabel = "FILE", description = "Where the results go.")
    private Path json = Path.of("benchmarks", "target", "comparison.json");

    @Option(
            names = "--publish",
            paramLabel = "DIRECTORY",
            arity = "0..1",
            fallbackValue = "docs",
            description =
                    "Puts results, tables and charts into DIRECTORY, and the tables of its"
                            + " performance.md; without a value into '${FALLBACK-VALUE}'.")
    private Path published;

    @Option(
            names = "--from",
            paramLabel = "FILE",
            description = "Runs nothing: reports, or publishes, what an earlier run has found.")
    private Path earlier;

    @Option(
            names = "--jvm",
            paramLabel = "ARGUMENT",
            description = "For the JVMs that are measured; may be given more than once.")
    private List<String> jvmArguments = new ArrayList<>();

    public static void main(String[] args) {
        System.exit(commandLine().execute(args));
    }

    static CommandLine commandLine() {
        return new CommandLine(new Compare())
                .setExecutionExceptionHandler(
                        (problem, command, parsed) -> {
                            command.getErr().println("compare: " + problem.getMessage());
                            return 1;
                        });
    }

    @Override
    public Integer call() throws Exception {
        if (earlier != null) {
            report(Comparison.read(earlier));
            return 0;
        }
        if (isSmoke) {
            rounds = 2;
            millis = 50;
            warmUp = 50;
            tries = 1;
        }
        List<Work> works =
                everything().stream().filter(work -> pattern.matcher(work.label()).find()).toList();
        if (works.isEmpty()) {
            throw new IllegalArgumentException(
                    "--work: nothing has a match for '"
                            + pattern
                            + "' (there are: "
                            + String.join("; ", everything().stream().map(Work::label).toList())
                            + ")");
        }
        checkCpus();
        Comparison comparison = run(works);
        comparison.write(json);
        report(comparison);
        System.out.println("\nresults: " + json);
        return 0;
    }

    private void report(Comparison comparison) throws IOException {
        System.out.print(Report.text(comparison));
        if (published != null) {
            new Publication(published).write(comparison);
        }
    }

    /** Two event loops that never block on one CPU would measure the scheduler of the system. */
    private void checkCpus() {
        int cpus = Runtime.getRuntime().availableProcessors();
        List<Transport> busy = transports.stream().filter(Transport::isBusy).toList();
        if (cpus < 2 && !busy.isEmpty()) {
            System.err.println("compare: left out, they need 2 CPUs and there is 1: " + busy);
            transports = transports.stream().filter(t -> !t.isBusy()).toList();
        }
        if (!transports.contains(baseline)) {
            baseline = transports.get(0);
        }
    }

    private Comparison run(List<Work> works) throws IOException, InterruptedException {
        Map<Transport, Pair> pairs = new EnumMap<>(Transport.class);
        List<Row> rows = new ArrayList<>();
        try {
            for (Transport transport : transports) {
                pairs.put(transport, new Pair(transport, inOneProcess, jvmArguments));
            }
            for (Work work : works) {
                System.err.println("compare: " + work.label());
                rows.addAll(run(work, pairs));
            }
        } finally {
            pairs.values().forEach(Pair::close);
        }
        return new Comparison(Comparison.Machine.here(), baseline.name(), inOneProcess, rows);
    }

    private List<Row> run(Work work, Map<Transport, Pair> pairs)
            throws IOException, InterruptedException {
        Map<Transport, List<Window>> windows = new EnumMap<>(Transport.class);
        for (Pair pair : pairs.values()) {
            pair.run(work, warmUp);
            windows.put(pair.transport(), new ArrayList<>());
        }
        List<Pair> order = new ArrayList<>(pairs.values());
        for (int round = 0; round < rounds; round++) {
            for (Pair pair : order) {
                windows.get(pair.transport()).add(pair.run(work, millis, tries));
            }
            Collections.rotate(order, 1); // nobody always follows the same one
        }
        return transports.stream()
                .map(transport -> new Row(work, transport.name(), windows.get(transport)))
                .toList();
    }

    private static List<Transport> available() {
        return Arrays.stream(Transport.values()).filter(Transport::isAvailable).toList();
    }

    /** In an order in which connections are only ever added. */
    private static List<Work> everything() {
        List<Work> works = new ArrayList<>();
        for (int outstanding : new int[] {1, 16, 64}) {
            works.add(Work.of(Procedure.NULL, 0, outstanding));
        }
        for (Procedure procedure : new Procedure[] {Procedure.READ, Procedure.WRITE}) {
            for (int bytes : new int[] {4 * KIB, 64 * KIB}) {
                for (int outstanding : new int[] {1, 16}) {
                    works.add(Work.of(procedure, bytes, outstanding));
                }
            }
            works.add(Work.of(procedure, MIB, 1));
            works.add(Work.of(procedure, MIB, 4));
        }
        for (int connections : new int[] {4, 16}) {
            works.add(new Work(Procedure.NULL, 0, 16, connections, 0));
            works.add(new Work(Procedure.READ, 4 * KIB, 16, connections, 0));
        }
        works.add(new Work(Procedure.NULL, 0, 16, 16, 1000));
        return works;
    }
}
