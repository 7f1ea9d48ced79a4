// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.util.concurrent.Executor;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.VerbsProvider;

/** Makes groups with a memory budget of their own. */
public final class SimulatedGroups {

    private SimulatedGroups() {}

    /** {@return a group of one event loop} */
    public static RdmaEventLoopGroup single(
            Executor executor, VerbsProvider provider, PollMode mode, DirectMemoryBudget budget) {
        return new RdmaEventLoopGroup(1, executor, provider, mode, budget);
    }
}
