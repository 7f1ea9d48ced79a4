// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import io.netty.util.concurrent.FastThreadLocalThread;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.LockSupport;

/**
 * Runs threads one at a time. A thread runs from the moment the scheduler selects it until it waits; then it asks the
 * scheduler for the next one, which may be itself. The order of all that they do is therefore the scheduler's alone,
 * and state that they share needs no lock.
 */
final class SimulatedThreads implements Executor {

    /** The event that a suspended thread waits for. */
    interface WaitCondition {

        /** Whether the thread may run. */
        boolean isMet(long now);

        /** When the condition is met at the latest; {@link Long#MAX_VALUE} for never. */
        long deadline();
    }

    /** Selects threads. */
    interface Scheduler {

        /** Returns the thread that runs next; {@code null} for the caller of {@link #run}. */
        SimulatedThread next();
    }

    /** A thread of the simulation. */
    static final class SimulatedThread {

        final int number;
        private Thread thread;
        private volatile boolean isSelected;
        private WaitCondition condition;

        private SimulatedThread(int number) {
            this.number = number;
        }

        boolean isBlocked(long now) {
            return condition != null && !condition.isMet(now);
        }

        /** When it stops waiting at the latest; {@link Long#MAX_VALUE} for never. */
        long deadline() {
            return condition == null ? Long.MAX_VALUE : condition.deadline();
        }

        private void resume() {
            isSelected = true;
            LockSupport.unpark(thread);
        }

        private void suspend() {
            while (!isSelected) {
                LockSupport.park(this);
            }
            isSelected = false;
        }
    }

    private final List<SimulatedThread> threads = new ArrayList<>();

    /** The thread of the test, suspended while others run. */
    private final SimulatedThread driver = new SimulatedThread(-1);

    private final Scheduler scheduler;

    /** {@code null} while the driver runs. */
    private SimulatedThread current;

    private int created;
    private Throwable failure;

    SimulatedThreads(Scheduler scheduler) {
        this.scheduler = scheduler;
    }

    /** Creates a thread for the task, which starts when the scheduler selects it first. */
    @Override
    public void execute(Runnable task) {
        SimulatedThread added = new SimulatedThread(created++);
        threads.add(added);
        // The kind of thread that event loops have: Netty's pools are smaller for others.
        added.thread =
                new FastThreadLocalThread(
                        () -> runUntilItEnds(added, task), "simulated-" + added.number);
        added.thread.setDaemon(true);
        added.thread.start();
    }

    private void runUntilItEnds(SimulatedThread self, Runnable task) {
        self.suspend();
        try {
            task.run();
        } catch (Throwable t) {
            failure = t;
        }
        threads.remove(self);
        switchTo(failure == null ? next() : null);
    }

    /** The threads that have not ended, in the order of their creation. */
    List<SimulatedThread> alive() {
        return threads;
    }

    /** Runs threads until the scheduler selects the caller, which is none of them. */
    void run() {
        SimulatedThread next = next();
        if (next != null) {
            driver.thread = Thread.currentThread();
            switchTo(next);
            driver.suspend();
        }
        if (failure != null) {
            throw new AssertionError("a simulated thread has ended by an exception", failure);
        }
    }

    /**
     * Suspends the calling thread until the scheduler selects it. Of no effect for the driver.
     *
     * @param condition {@code null} when it may run at any time
     */
    void await(WaitCondition condition) {
        SimulatedThread self = current;
        if (self == null) {
            return;
        }
        self.condition = condition;
        SimulatedThread next = next();
        if (next != self) {
            switchTo(next);
            self.suspend();
        }
        self.condition = null;
    }

    private SimulatedThread next() {
        try {
            return scheduler.next();
        } catch (Throwable t) {
            failure = t;
            return null;
        }
    }

    private void switchTo(SimulatedThread next) {
        current = next;
        (next == null ? driver : next).resume();
    }
}
