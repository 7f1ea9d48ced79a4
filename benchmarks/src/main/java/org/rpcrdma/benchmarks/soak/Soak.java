// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.soak;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** The command {@code benchmarks/soak}. */
@Command(
        name = "soak",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Mixed calls and streams through a network of the program's own that delays,"
                    + " stalls, cuts and partitions. Each call has to end by its deadline, each"
                    + " byte to be right, each WRITE to be executed once at most, and nothing may"
                    + " grow. Exit status 1 if not.")
final class Soak implements Callable<Integer> {

    private static final int CALLS_PER_CLIENT = 2;
    private static final int LIVELY_CALLS = 5;
    private static final long MILLIS = 1_000;

    /** Of so many faults one drops all connections of a server, and one hits every link to a server. */
    private static final int KINDS_OF_VICTIM = 16;

    @Option(names = "--minutes", description = "How long. Default: ${DEFAULT-VALUE}.")
    private double minutes = 120;

    @Option(names = "--clients", description = "Of calls. Default: ${DEFAULT-VALUE}.")
    private int clients = 64;

    @Option(names = "--streams", description = "Byte streams. Default: ${DEFAULT-VALUE}.")
    private int streams = 8;

    @Option(names = "--servers", description = "Default: ${DEFAULT-VALUE}.")
    private int servers = 4;

    @Option(
            names = "--fault-seconds",
            description = "Between two faults, on average. Default: ${DEFAULT-VALUE}.")
    private double faultSeconds = 10;

    @Option(
            names = "--longest-fault-seconds",
            description = "How long a stall or partition lasts at most. Default: ${DEFAULT-VALUE}.")
    private long longestFaultSeconds = 120;

    @Option(
            names = "--timeout-seconds",
            description = "The deadline of each call. Default: ${DEFAULT-VALUE}.")
    private long timeoutSeconds = 15;

    @Option(
            names = "--slack-seconds",
            description =
                    "How much later than its deadline a call may end on a busy machine. Default:"
                            + " ${DEFAULT-VALUE}.")
    private long slackSeconds = 5;

    @Option(
            names = "--pause-millis",
            description = "After each call, on average. Default: ${DEFAULT-VALUE}.")
    private long pauseMillis = 200;

    @Option(
            names = "--sample-minutes",
            description =
                    "Between two samples of what the process holds, each taken without faults."
                            + " Default: ${DEFAULT-VALUE}.")
    private double sampleMinutes = 3;

    @Option(names = "--seed", description = "Of calls and faults. Default: the time.")
    private long seed = System.nanoTime();

    private final SoakTally tally = new SoakTally();
    private final SoakSamples samples = new SoakSamples();
    private final List<SoakServer> listening = new ArrayList<>();
    private final List<SoakClient> calling = new ArrayList<>();
    private final List<SoakStream> streaming = new ArrayList<>();
    private final List<ImpairedLink> links = new ArrayList<>();
    private RdmaEventLoopGroup serverGroup;
    private RdmaEventLoopGroup clientGroup;
    private Ledger[] ledgers;
    private long faults;

    public static void main(String[] arguments) {
        System.exit(new CommandLine(new Soak()).execute(arguments));
    }

    @Override
    public Integer call() throws Exception {
        say("seed " + seed + ", " + minutes + " minutes");
        serverGroup = new RdmaEventLoopGroup(2);
        clientGroup = new RdmaEventLoopGroup(2);
        try (ImpairedNetwork network = new ImpairedNetwork()) {
            connect(network);
            awaitProgress();
            ResourceSample before = sample("before");
            injectFaults();
            awaitProgress();
            // A socket whose peer has gone lingers for a moment.
            await(
                    () ->
                            ResourceSample.registeredChannels(groups()) == before.channels()
                                    && ResourceSample.openDescriptors() <= before.descriptors(),
                    "channels or descriptors are left over");
            sample("after");
            say(samples.verdict());
            if (!samples.isFlat()) {
                tally.violation("something has grown");
            }
            end();
        }
        for (Ledger ledger : ledgers) {
            if (ledger.doubled() > 0) {
                tally.violation(ledger.doubled() + " WRITEs of a client were executed twice");
            }
        }
        clientGroup.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        serverGroup.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        ResourceSample closed = sample("closed");
        if (closed.lent() != 0) {
            tally.violation("registered memory is lent although all is closed");
        }
        say(faults + " faults; " + tally);
        return tally.violations() == 0 ? 0 : 1;
    }

    private void connect(ImpairedNetwork network) throws Exception {
        ledgers = new Ledger[clients];
        for (int i = 0; i < clients; i++) {
            ledgers[i] = new Ledger();
        }
        SoakProgram program = new SoakProgram(ledgers, tally);
        for (int i = 0; i < servers; i++) {
            listening.add(new SoakServer(serverGroup, program));
        }
        for (int i = 0; i < clients; i++) {
            ImpairedLink link = network.link(listening.get(i % servers).address());
            links.add(link);
            calling.add(
                    new SoakClient(
                            i,
                            clientGroup,
                            link.address(),
                            timeoutSeconds * MILLIS,
                            slackSeconds * MILLIS,
                            pauseMillis,
                            ledgers[i],
                            tally));
        }
        for (int i = 0; i < streams; i++) {
            ImpairedLink link = network.link(SoakStream.listen(serverGroup));
            links.add(link);
            streaming.add(new SoakStream(clientGroup, link.address(), pauseMillis, tally));
        }
        for (int i = 0; i < clients; i++) {
            calling.get(i).start(CALLS_PER_CLIENT, seed + i);
        }
        streaming.forEach(SoakStream::start);
    }

    private void injectFaults() throws InterruptedException {
        Random random = new Random(seed);
        long start = System.nanoTime();
        long end = start + (long) (minutes * 60e9);
        long nextSample = start + (long) (sampleMinutes * 60e9);
        say(SoakSamples.heading());
        while (end - System.nanoTime() > 0) {
            Thread.sleep((long) (2 * random.nextDouble() * faultSeconds * MILLIS));
            faults++;
            int victim = random.nextInt(KINDS_OF_VICTIM);
            int server = random.nextInt(servers);
            if (victim == 0) {
                listening.get(server).restart();
            } else if (victim == 1) {
                Impairment all = Impairment.random(random, longestFaultSeconds * MILLIS);
                for (int i = server; i < clients; i += servers) {
                    links.get(i).impair(all);
                }
            } else {
                links.get(random.nextInt(links.size()))
                        .impair(Impairment.random(random, longestFaultSeconds * MILLIS));
            }
            if (System.nanoTime() - nextSample >= 0) {
                nextSample += (long) (sampleMinutes * 60e9);
                awaitProgress();
                ResourceSample now = ResourceSample.take(groups());
                samples.add(now);
                say(SoakSamples.row((System.nanoTime() - start) / 60e9, now, tally));
            }
        }
    }

    /** Without faults everybody goes on. */
    private void awaitProgress() throws InterruptedException {
        links.forEach(link -> link.impair(Impairment.NONE));
        long[] calls = calling.stream().mapToLong(SoakClient::answered).toArray();
        long[] portions = streaming.stream().mapToLong(SoakStream::portions).toArray();
        for (int i = 0; i < calls.length; i++) {
            SoakClient client = calling.get(i);
            long enough = calls[i] + LIVELY_CALLS;
            await(() -> client.answered() >= enough, "a client has no answers");
        }
        for (int i = 0; i < portions.length; i++) {
            SoakStream stream = streaming.get(i);
            long enough = portions[i] + LIVELY_CALLS;
            await(() -> stream.portions() >= enough, "a stream stands still");
        }
        int expected = clients;
        await(
                () -> listening.stream().mapToInt(SoakServer::connections).sum() == expected,
                "servers have connections of no client");
    }

    private void await(BooleanSupplier condition, String otherwise) throws InterruptedException {
        long end = System.nanoTime() + Duration.ofMinutes(3).toNanos();
        while (!condition.getAsBoolean()) {
            if (end - System.nanoTime() < 0) {
                tally.violation(otherwise);
                return;
            }
            Thread.sleep(10);
        }
    }

    private void end() throws InterruptedException {
        calling.forEach(SoakClient::stop);
        streaming.forEach(SoakStream::stop);
        for (SoakClient client : calling) {
            await(client::isIdle, "calls do not end");
            client.close().awaitUninterruptibly();
        }
    }

    private ResourceSample sample(String when) {
        ResourceSample sample = ResourceSample.take(groups());
        say(when + ": " + sample);
        return sample;
    }

    private List<RdmaEventLoopGroup> groups() {
        return List.of(clientGroup, serverGroup);
    }

    private static void say(String what) {
        System.out.println(Instant.now().toString().substring(0, 19) + "  " + what);
        System.out.flush();
    }
}
