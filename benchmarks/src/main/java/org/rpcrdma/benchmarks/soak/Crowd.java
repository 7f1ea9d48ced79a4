// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.soak;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.verbs.iwarp.IwarpProvider;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** The command {@code benchmarks/crowd}. */
@Command(
        name = "crowd",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Honest clients of a server with little direct memory, alone and beside a crowd of"
                    + " connections that stay half done, in turns. Prints the rate of the honest"
                    + " calls of each window, the ratio of each pair and the median of the ratios."
                    + " Exit status 1 if that is below --least, or an honest call fails.")
final class Crowd implements Callable<Integer> {

    @Option(
            names = "--of-each",
            description = "Connections of each kind. Default: ${DEFAULT-VALUE}.")
    private int ofEach = 1000;

    @Option(
            names = "--kinds",
            split = ",",
            description = "Of ${COMPLETION-CANDIDATES}. Default: all.")
    private List<HalfDone> kinds = List.of(HalfDone.values());

    @Option(
            names = "--addresses",
            description = "From so many the crowd comes. Default: ${DEFAULT-VALUE}.")
    private int addresses = 8;

    @Option(names = "--rounds", description = "Pairs of windows. Default: ${DEFAULT-VALUE}.")
    private int rounds = 7;

    @Option(names = "--window-seconds", description = "Default: ${DEFAULT-VALUE}.")
    private double windowSeconds = 4;

    @Option(names = "--warm-up-seconds", description = "Default: ${DEFAULT-VALUE}.")
    private double warmUpSeconds = 8;

    @Option(names = "--connections", description = "Of honest clients. Default: ${DEFAULT-VALUE}.")
    private int connections = 4;

    @Option(
            names = "--outstanding",
            description = "Calls of each of them. Default: ${DEFAULT-VALUE}.")
    private int outstanding = 4;

    @Option(
            names = "--direct-megabytes",
            description = "Direct memory of the server. Default: ${DEFAULT-VALUE}.")
    private int directMegabytes = 256;

    @Option(
            names = "--hold-seconds",
            description =
                    "How long the last crowd stays behind its window, to see what of it the server"
                            + " ends. Default: ${DEFAULT-VALUE}.")
    private double holdSeconds = 45;

    @Option(names = "--least", description = "Ratio. Default: ${DEFAULT-VALUE}.")
    private double least = 0.9;

    private final List<CrowdPeers> crowd = new ArrayList<>();
    private RdmaEventLoopGroup group;
    private HonestClients honest;
    private Process process;
    private PrintStream questions;
    private BufferedReader answers;
    private int port;
    private int streamPort;

    public static void main(String[] arguments) {
        System.exit(
                new CommandLine(new Crowd())
                        .setCaseInsensitiveEnumValuesAllowed(true)
                        .execute(arguments));
    }

    @Override
    public Integer call() throws Exception {
        group = new RdmaEventLoopGroup(1, new IwarpProvider(), PollMode.BLOCKING);
        kinds.stream()
                // Half start-ups last: newcomers wait behind them until their time is over.
                .sorted((a, b) -> b.compareTo(a))
                .forEach(kind -> crowd.add(new CrowdPeers(kind, group, addresses)));
        startServer();
        try {
            honest = new HonestClients(port, connections, outstanding);
            System.out.printf(
                    "%d connections of each kind from %d addresses; server with %d MiB of direct"
                            + " memory%n",
                    ofEach, addresses, directMegabytes);
            honest.rate(warmUpSeconds);
            double ratio = compare();
            System.out.printf("ratio %.3f (median of %d pairs)%n", ratio, rounds);
            hold();
            honest.close();
            if (honest.failed() > 0) {
                System.out.println(honest.failed() + " honest calls failed: " + honest.failure());
            }
            return ratio >= least && honest.failed() == 0 ? 0 : 1;
        } finally {
            process.destroy();
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS);
        }
    }

    private double compare() throws Exception {
        double[] ratios = new double[rounds];
        System.out.println(
                "alone/s  beside/s  ratio  server: connections, registered MiB, direct MiB");
        for (int i = 0; i < rounds; i++) {
            double alone = honest.rate(windowSeconds);
            open();
            double beside = honest.rate(windowSeconds);
            ratios[i] = beside / alone;
            System.out.printf("%7.0f  %8.0f  %5.3f  %s%n", alone, beside, ratios[i], ask());
            if (i == 0) {
                System.out.println("         crowd: " + composition());
            }
            if (i < rounds - 1) {
                close();
            }
        }
        Arrays.sort(ratios);
        return ratios[rounds / 2];
    }

    /** What the deadlines leave of the crowd, and how a newcomer fares. */
    private void hold() throws Exception {
        if (holdSeconds > 0) {
            System.out.printf(
                    "a newcomer's first answer beside it: %d ms%n", honest.newcomerMillis());
            double rate = honest.rate(holdSeconds);
            System.out.printf(
                    "after %.0f s more (%.0f honest calls a second): %s; server: %s%n",
                    holdSeconds, rate, composition(), ask());
        }
        close();
    }

    private String composition() throws IOException {
        StringBuilder composition = new StringBuilder();
        for (CrowdPeers peers : crowd) {
            composition.append(
                    String.format(
                            "%s%d %s (%d refused)",
                            composition.isEmpty() ? "" : ", ",
                            peers.open(),
                            peers,
                            peers.refused()));
        }
        return composition.toString();
    }

    private void open() throws Exception {
        for (CrowdPeers peers : crowd) {
            peers.open(ofEach, port, streamPort);
        }
    }

    private void close() throws Exception {
        for (CrowdPeers peers : crowd) {
            peers.close();
        }
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (Integer.parseInt(ask().split(",", -1)[0]) > connections && System.nanoTime() < end) {
            Thread.sleep(50);
        }
    }

    // ------------------------------------------------------------------ the server's process

    private void startServer() throws IOException {
        process =
                new ProcessBuilder(
                                System.getProperty("java.home") + "/bin/java",
                                "-Xmx512m",
                                "-XX:MaxDirectMemorySize=" + directMegabytes + "m",
                                "-cp",
                                System.getProperty("java.class.path"),
                                CrowdServer.class.getName())
                        .redirectError(
                                new File(System.getProperty("java.io.tmpdir"), "crowd-server.log"))
                        .start();
        questions = new PrintStream(process.getOutputStream(), true, StandardCharsets.US_ASCII);
        answers =
                new BufferedReader(
                        new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII));
        String[] listens = awaitLine("LISTENS ").split(" ", -1);
        port = Integer.parseInt(listens[0]);
        streamPort = Integer.parseInt(listens[1]);
    }

    private String awaitLine(String beginning) throws IOException {
        String line = answers.readLine();
        while (line != null && !line.startsWith(beginning)) {
            line = answers.readLine();
        }
        if (line == null) {
            throw new IOException("The server has ended; its log is crowd-server.log");
        }
        return line.substring(beginning.length());
    }

    private String ask() throws IOException {
        questions.println();
        return awaitLine("HOLDS ").replaceAll(" ", ", ");
    }
}
