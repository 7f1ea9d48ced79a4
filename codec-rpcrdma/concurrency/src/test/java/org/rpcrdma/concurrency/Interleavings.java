// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.concurrency;

import static org.jetbrains.lincheck.datastructures.ManagedStrategyGuaranteeKt.forClasses;

import org.jetbrains.lincheck.Lincheck;
import org.jetbrains.lincheck.LincheckAssertionError;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;

/**
 * How much is explored of each crossing: the operations of a class in generated programs of two threads, or one
 * program. Both explore interleavings of single accesses to shared memory, sequentially consistent; what weaker
 * orders can do is the matter of {@code RingOrderings}.
 */
public final class Interleavings {

    private static final int PROGRAMS = 8;
    private static final int INTERLEAVINGS = 150;

    /** Rounds of a loop that are no livelock: the counters of a connection, with room for more. */
    private static final int LOOP_BOUND = 1000;

    private static final int PROGRAM_INTERLEAVINGS = 150;

    private Interleavings() {}

    /** Checks that each interleaving of its operations has results that some order of them has too. */
    public static void checkLinearizability(Class<?> operations) {
        new ModelCheckingOptions()
                .threads(2)
                .actorsPerThread(3)
                .actorsBefore(1)
                .actorsAfter(1)
                .loopBound(LOOP_BOUND)
                .iterations(PROGRAMS)
                .invocationsPerIteration(INTERLEAVINGS)
                .addGuarantee(
                        forClasses(name -> name.startsWith("io.netty.")).allMethods().ignore())
                .check(operations);
    }

    /**
     * Runs a program, which uses {@link #inThreads}, in different interleavings. Lincheck gives one 30 seconds, and
     * the first one has all classes rewritten: one that hangs for another reason hangs again.
     */
    public static void explore(Runnable program) {
        try {
            Lincheck.runConcurrentTest(PROGRAM_INTERLEAVINGS, program);
        } catch (LincheckAssertionError e) {
            if (!e.getMessage().contains("has hung")) {
                throw e;
            }
            Lincheck.runConcurrentTest(PROGRAM_INTERLEAVINGS, program);
        }
    }

    /** Runs each task in a thread of its own, until all have ended. */
    public static void inThreads(Runnable... tasks) {
        Thread[] threads = new Thread[tasks.length];
        for (int i = 0; i < tasks.length; i++) {
            threads[i] = new Thread(tasks[i]);
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    /** An assertion within a program, where those of AssertJ cannot be. */
    public static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }
}
