// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.rpcrdma.concurrency.Interleavings.check;
import static org.rpcrdma.concurrency.Interleavings.explore;
import static org.rpcrdma.concurrency.Interleavings.inThreads;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/**
 * The wake-up of an event loop, whose thread looks for tasks and then waits. A lost wake-up is a deadlock, which is
 * found. Found: a state that is left at {@code
 * SIGNALLED} by a wait, which would never wait again.
 */
class SocketPollerTest {

    private static final int TASKS = 2;

    /** A wake-up ends the current wait, and maybe the next one. */
    private static final int MOST_WAITS = 2 * TASKS + 1;

    @Test
    void noWakeUpIsLost() {
        explore(
                () -> {
                    ModelSelector selector = new ModelSelector();
                    SocketPoller poller = new SocketPoller(selector, null);
                    AtomicInteger tasks = new AtomicInteger();
                    Runnable submitter =
                            () -> {
                                tasks.incrementAndGet();
                                poller.wakeup();
                            };
                    inThreads(() -> runTasks(poller, tasks), submitter, submitter);
                    check(tasks.get() == 0, "tasks are left");
                });
    }

    private static void runTasks(SocketPoller poller, AtomicInteger tasks) {
        int waits = 0;
        for (int done = 0; done < TASKS; ) {
            int found = tasks.getAndSet(0);
            done += found;
            if (found == 0) {
                check(++waits <= MOST_WAITS, "it does not wait");
                try {
                    poller.await(Long.MAX_VALUE);
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
            }
        }
    }
}
