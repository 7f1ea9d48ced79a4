// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.channel.epoll.Epoll;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.Predicate;
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

    /** How long a new process makes calls. */
    private static final long COLD_MILLIS = 3000;

    private static final long SMOKE_MILLIS = 100;

    /**
     * While a heap grows, calls pay for the page faults of its memory, in some virtual machines 15 to 30 microseconds
     * each. The limit of direct memory would follow the size of the heap.
     */
    private static final List<String> PRETOUCHED_HEAP =
            List.of("-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch", "-XX:MaxDirectMemorySize=4g");

    /** Of all work, that which is also done at a constant rate. */
    private static final Set<Work> LOADED =
            Set.of(
                    Work.of(Procedure.NULL, 0, 16),
                    Work.of(Procedure.READ, 4 * KIB, 16),
                    Work.of(Procedure.READ, 64 * KIB, 16));

    @Option(
            names = "--transports",
            split = ",",
            paramLabel = "NAME",
            completionCandidates = Names.class,
            description = "Which ones: ${COMPLETION-CANDIDATES}. Default: all that run here.")
    private List<String> names;

    @Option(
            names = "--baseline",
            paramLabel = "NAME",
            description = "What ratios are against. Default: ${DEFAULT-VALUE}.")
    private String baseline = "EPOLL_BUSY_TUNED";

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
    private int rounds = 5;

    @Option(
            names = "--millis",
            paramLabel = "N",
            description = "How long a window lasts. Default: ${DEFAULT-VALUE}.")
    private long millis = 200;

    @Option(
            names = "--warm-up",
            paramLabel = "N",
            description =
                    "Milliseconds of each work on each transport before the first round, six times"
                            + " as many of the first work of a kind, and more of them until"
                            + " nothing is compiled and calls do not become faster any more,"
                            + " eight times as many at most; 0 for none. Default:"
                            + " ${DEFAULT-VALUE}.")
    private long warmUp = 1000;

    @Option(
            names = "--tries",
            paramLabel = "N",
            description =
                    "How often a window is measured at most until others have not disturbed it."
                            + " Default: ${DEFAULT-VALUE}.")
    private int tries = 3;

    @Option(
            names = "--load",
            split = ",",
            paramLabel = "PERCENT",
            description =
                    "Calls at a constant rate: so much of what the slowest of --loaded can do,"
                            + " whose latencies count from when the calls were due; 0 for none."
                            + " Default: ${DEFAULT-VALUE}.")
    private List<Integer> loads = List.of(50, 80);

    @Option(
            names = "--loaded",
            split = ",",
            paramLabel = "NAME",
            description = "To which of --transports that is done. Default: ${DEFAULT-VALUE}.")
    private List<String> loaded =
            List.of("RDMA", "RDMA_BUSY", "SHARED_BUSY", "EPOLL", "EPOLL_BUSY_TUNED", "UNIX_BUSY");

    @Option(names = "--smoke", description = "A short run: is everything in order?")
    private boolean isSmoke;

    @Option(
            names = "--one-process",
            description = "Client and server share a process, each with its event loop.")
    private boolean inOneProcess;

    @Option(
            names = "--cold",
            description =
                    "Something else: the first 3 s of new processes, alone and beside a busy"
                        + " process for each CPU. Takes --rounds, --jvm, --smoke and --publish,"
                        + " which draws the chart of it alone, and --transports, of which the last"
                        + " is what ratios are against; default: RDMA, RDMA_BLOCKING, EPOLL.")
    private boolean isCold;

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
            description =
                    "For the JVMs that are measured, behind those that fix their heap; may be given"
                            + " more than once.")
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
        if (isCold) {
            ColdComparison cold = cold().run();
            System.out.print(cold.text());
            if (published != null) {
                new Publication(published).write(cold);
            }
            return 0;
        }
        if (names == null) {
            names = available();
        }
        if (isSmoke) {
            rounds = 1;
            millis = 30;
            warmUp = 0;
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
        report(run(works));
        System.out.println("\nresults: " + json);
        return 0;
    }

    private ColdComparison cold() {
        List<String> transports =
                names != null
                        ? names
                        : Epoll.isAvailable()
                                ? List.of("RDMA", "RDMA_BLOCKING", "EPOLL")
                                : List.of("RDMA", "RDMA_BLOCKING", "NIO");
        transports.forEach(Transport::valueOf);
        return new ColdComparison(
                transports,
                isSmoke ? 1 : rounds,
                isSmoke ? SMOKE_MILLIS : COLD_MILLIS,
                Runtime.getRuntime().availableProcessors(),
                jvmArguments);
    }

    private void report(Comparison comparison) throws IOException {
        System.out.print(Report.text(comparison));
        if (published != null) {
            new Publication(published).write(comparison);
        }
    }

    /** Two event loops that never block on one CPU would measure the scheduler of the system. */
    private List<Contender> contenders() {
        List<Contender> chosen = names.stream().map(Contender::named).toList();
        List<String> busy = chosen.stream().filter(Contender::isBusy).map(Contender::name).toList();
        if (Runtime.getRuntime().availableProcessors() < 2 && !busy.isEmpty()) {
            System.err.println("compare: left out, they need 2 CPUs and there is 1: " + busy);
            chosen = chosen.stream().filter(contender -> !contender.isBusy()).toList();
        }
        if (chosen.isEmpty()) {
            throw new IllegalArgumentException(
                    "--transports: none of " + names + " runs here (expected: at least one)");
        }
        if (chosen.stream().noneMatch(contender -> contender.name().equals(baseline))) {
            baseline = chosen.get(0).name();
        }
        return chosen;
    }

    private Comparison run(List<Work> works) throws IOException, InterruptedException {
        List<Pair> pairs = new ArrayList<>();
        List<Row> rows = new ArrayList<>();
        List<String> arguments = new ArrayList<>(isSmoke ? List.of() : PRETOUCHED_HEAP);
        arguments.addAll(jvmArguments);
        try {
            for (Contender contender : contenders()) {
                pairs.add(new Pair(contender, inOneProcess, arguments));
            }
            // RPC is over before the byte streams begin: TCP gives up what a process that is
            // stopped for a quarter of an
            // hour has not received.
            run(works, Application.RPC::equals, pairs, rows);
            List<Pair> some =
                    pairs.stream().filter(p -> loaded.contains(p.contender().name())).toList();
            run(loads(rows), application -> true, some, rows);
            run(works, application -> application != Application.RPC, pairs, rows);
        } finally {
            comparison(rows).write(json); // a failure does not take what was measured before
            pairs.forEach(Pair::close);
        }
        return comparison(rows);
    }

    private Comparison comparison(List<Row> rows) {
        return new Comparison(Comparison.Machine.here(), baseline, inOneProcess, rows);
    }

    private void run(
            List<Work> works, Predicate<Application> isMeant, List<Pair> pairs, List<Row> rows)
            throws IOException, InterruptedException {
        for (Work work : works) {
            if (isMeant.test(work.application())) {
                rows.addAll(
                        run(work, pairs.stream().filter(p -> p.contender().does(work)).toList()));
            }
        }
    }

    /** What the slowest can do to a part is what all have to do. */
    private List<Work> loads(List<Row> rows) {
        List<Work> works = new ArrayList<>();
        for (Work work :
                rows.stream().map(Row::work).distinct().filter(LOADED::contains).toList()) {
            double least =
                    rows.stream()
                            .filter(row -> row.work().equals(work))
                            .filter(row -> loaded.contains(row.transport()))
                            .mapToDouble(row -> row.median(Window::callsPerSecond))
                            .min()
                            .orElse(0);
            loads.stream()
                    .filter(percent -> percent > 0 && least > 0)
                    .forEach(percent -> works.add(work.at(percent, least)));
        }
        return works;
    }

    private List<Row> run(Work work, List<Pair> pairs) throws IOException, InterruptedException {
        System.err.println("compare: " + work.label());
        Map<Pair, List<Window>> windows = new LinkedHashMap<>();
        Map<Pair, Long> idleBytes = new HashMap<>();
        for (Pair pair : pairs) {
            long before = work.idle() > 0 ? pair.memory() : 0;
            pair.warmUp(work, warmUp);
            windows.put(pair, new ArrayList<>());
            idleBytes.put(pair, work.idle() > 0 ? (pair.memory() - before) / work.idle() : 0);
        }
        List<Pair> order = new ArrayList<>(pairs);
        for (int round = 0; round < rounds; round++) {
            for (Pair pair : order) {
                windows.get(pair).add(pair.run(work, millis, tries));
            }
            Collections.rotate(order, 1); // nobody always follows the same one
        }
        return pairs.stream()
                .map(
                        pair ->
                                new Row(
                                        work,
                                        pair.contender().name(),
                                        windows.get(pair),
                                        idleBytes.get(pair)))
                .toList();
    }

    private static List<String> available() {
        return Contender.all().stream()
                .filter(Contender::isAvailable)
                .map(Contender::name)
                .toList();
    }

    /** For the help. */
    private static final class Names extends ArrayList<String> {
        Names() {
            super(Contender.names());
        }
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
            works.add(Work.on(connections, Procedure.NULL, 0, 16));
            works.add(Work.on(connections, Procedure.READ, 4 * KIB, 16));
        }
        works.add(Work.on(16, Procedure.NULL, 0, 16).beside(1000));
        works.add(Work.of(Procedure.ECHO, 64, 1));
        works.add(Work.of(Procedure.ECHO, 4 * KIB, 1));
        works.add(Work.of(Procedure.ECHO, 4 * KIB, 16));
        works.add(Work.of(Procedure.BULK, 64 * KIB, 16));
        works.add(Work.of(Procedure.BULK, MIB, 4));
        works.add(Work.of(Procedure.HTTP1_GET, MIB, 1));
        for (Procedure procedure :
                new Procedure[] {Procedure.GET, Procedure.UNARY, Procedure.MESSAGES}) {
            works.add(Work.of(procedure, 4 * KIB, 1));
            works.add(Work.of(procedure, 4 * KIB, 16));
            works.add(Work.of(procedure, MIB, 1));
        }
        return works;
    }
}
