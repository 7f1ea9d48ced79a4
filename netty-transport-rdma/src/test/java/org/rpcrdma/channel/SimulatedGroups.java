// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.util.concurrent.AbstractScheduledEventExecutor;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.VerbsProvider;

/** Makes groups of simulated hosts: each has a memory budget and CPUs of its own. */
public final class SimulatedGroups {

    /** So that it is of no effect how many the machine has, and what other event loops of this process do. */
    private static final int CPUS = 2;

    private static final int MOST_TAKEN = 4096;

    private static final Method HAS_TIMERS = hasScheduledTasks();

    private SimulatedGroups() {}

    /** {@return a group of one event loop} */
    public static RdmaEventLoopGroup single(
            Executor executor, VerbsProvider provider, PollMode mode, DirectMemoryBudget budget) {
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1, executor, provider, mode, budget);
        ((RdmaEventLoop) group.next()).poller().limitPolling(new PollingEventLoopLimit(CPUS));
        return group;
    }

    /**
     * Takes registered memory of a group until there is none. On its event loop.
     *
     * @param bytes of each buffer
     * @return the buffers
     */
    public static List<ByteBuf> takeRegistered(RdmaEventLoopGroup group, int bytes) {
        List<ByteBuf> taken = new ArrayList<>();
        try {
            while (taken.size() < MOST_TAKEN) {
                taken.add(((RdmaEventLoop) group.next()).poller().pool.registered(bytes));
            }
        } catch (IllegalStateException e) {
            // That was the last one.
        }
        return taken;
    }

    /** {@return the bytes of incomplete messages of all addresses of this JVM} */
    public static long incompleteBytes() {
        return PeerIncompleteMessageQuota.total();
    }

    /** {@return whether the event loop of a group has timers} While no thread of the simulation runs. */
    public static boolean hasTimers(RdmaEventLoopGroup group) {
        try {
            return (boolean) HAS_TIMERS.invoke(group.next());
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(e.getMessage(), e);
        }
    }

    /** Netty tells it subclasses alone. */
    private static Method hasScheduledTasks() {
        try {
            Method method =
                    AbstractScheduledEventExecutor.class.getDeclaredMethod("hasScheduledTasks");
            method.setAccessible(true);
            return method;
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(e.getMessage(), e);
        }
    }
}
