// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.PrintWriter;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.codec.simulation.Simulator;
import org.rpcrdma.codec.simulation.Simulator.Verdict;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Runs the whole stack in the deterministic simulation. */
@Command(
        name = "simulate",
        description = {
            "Runs servers, clients and rogues with all that is above the network in a simulation:"
                    + " one virtual clock, a network in memory, faults of all kinds. A seed"
                    + " determines the history. One that fails is made smaller and printed."
        },
        mixinStandardHelpOptions = true)
final class SimulateCommand implements Callable<Integer> {

    private static final int FAILURE = 1;
    private static final long SEEDS = 1000;

    @Mixin
    @SuppressWarnings("UnusedVariable") // picocli needs the field
    private Verbosity verbosity;

    @Option(
            names = "--seed",
            description = "The seed, or with --hours the first of them; without either, 0 to 999.")
    private Long seed;

    @Option(names = "--hours", description = "Runs seeds one after the other for so long.")
    private Double hours;

    @Spec private CommandSpec spec;

    private long histories;
    private long steps;
    private double simulatedSeconds;

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        // Connections are lost all the time.
        Verbosity.expectWarningsOf("org.rpcrdma");
        long start = System.nanoTime();
        Verdict wrong = run(start);
        double seconds = (System.nanoTime() - start) / 1e9;
        out.printf(
                "%d histories, %d steps, %.0f simulated seconds in %.1f: %.0f a second%n",
                histories, steps, simulatedSeconds, seconds, simulatedSeconds / seconds);
        out.println(wrong == null ? "each history is right" : "seed " + wrong.seed() + " is wrong");
        out.flush();
        return wrong == null ? 0 : FAILURE;
    }

    private Verdict run(long start) {
        long first = seed == null ? 0 : seed;
        long most = hours != null ? Long.MAX_VALUE : seed != null ? 1 : SEEDS;
        double limit = hours == null ? Double.MAX_VALUE : hours * TimeUnit.HOURS.toNanos(1);
        for (long i = 0; i < most && (i == 0 || System.nanoTime() - start < limit); i++) {
            Verdict streams = count(Simulator.runStreams(first + i), "byte streams");
            if (streams.failure() != null) {
                return streams;
            }
            Verdict calls = count(Simulator.run(first + i), "calls");
            if (calls.failure() != null) {
                PrintWriter out = spec.commandLine().getOut();
                out.println("a smaller history that fails, without deliveries:");
                Simulator.shrink(calls.seed()).forEach(out::println);
                return calls;
            }
        }
        return null;
    }

    private Verdict count(Verdict verdict, String what) {
        histories++;
        steps += verdict.steps();
        simulatedSeconds += verdict.simulatedNanos() / 1e9;
        if ((hours == null && seed != null) || verdict.failure() != null) {
            PrintWriter out = spec.commandLine().getOut();
            out.printf(
                    "seed %d, %s: %d steps, %.3f simulated seconds, %s%n",
                    verdict.seed(),
                    what,
                    verdict.steps(),
                    verdict.simulatedNanos() / 1e9,
                    verdict.failure() == null ? "right" : "WRONG: " + verdict.failure());
            out.flush();
        }
        return verdict;
    }
}
