// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.util.concurrent.Executor;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.VerbsProvider;

/** Makes groups of simulated hosts: each has a memory budget and CPUs of its own. */
public final class SimulatedGroups {

    /** So that it is of no effect how many the machine has, and what other event loops of this process do. */
    private static final int CPUS = 2;

    private SimulatedGroups() {}

    /** {@return a group of one event loop} */
    public static RdmaEventLoopGroup single(
            Executor executor, VerbsProvider provider, PollMode mode, DirectMemoryBudget budget) {
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1, executor, provider, mode, budget);
        ((RdmaEventLoop) group.next()).poller().limitPolling(new PollingEventLoopLimit(CPUS));
        return group;
    }
}
