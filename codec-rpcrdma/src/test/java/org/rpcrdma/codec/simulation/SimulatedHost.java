// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.SimulatedGroups;
import org.rpcrdma.codec.fault.FaultContext;
import org.rpcrdma.codec.fault.FaultPlan;
import org.rpcrdma.codec.fault.FaultProvider;
import org.rpcrdma.codec.fault.NthStep;
import org.rpcrdma.verbs.FailingMemory;
import org.rpcrdma.verbs.iwarp.IwarpConfig;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;

/** An event loop of its own, over a device that keeps account and can refuse. */
final class SimulatedHost {

    final RdmaEventLoopGroup group;
    private final SimulatedNetwork network;
    private final String name;
    private final FaultProvider device;
    private final FailingMemory memory;
    private NthStep refusal;
    private int failures;

    SimulatedHost(SimulatedNetwork network, String name, Random random) {
        this.network = network;
        this.name = name;
        memory =
                new FailingMemory(
                        bytes -> {
                            failures++;
                            network.note(name + " has no memory for " + bytes + " bytes");
                        });
        device = new FaultProvider(network.provider(IwarpConfig.defaults(), memory.budget()));
        group =
                SimulatedGroups.single(
                        network.executor(),
                        device,
                        random.nextBoolean() ? PollMode.BLOCKING : PollMode.ADAPTIVE,
                        memory.budget());
        switch (random.nextInt(6)) {
            case 0 -> context().delivery(FaultContext.Delivery.SINGLY);
            case 1 -> context().delivery(FaultContext.Delivery.BATCHED);
            default -> {}
        }
    }

    FaultContext context() {
        return device.context();
    }

    /** Refuses the n-th call from now on that the device can refuse: a registration, a work request, a connection. */
    void refuse(int at) {
        refusal =
                new NthStep(
                        at,
                        step -> step.mayFail(),
                        step -> {
                            network.note(name + " refuses " + step);
                            throw new IllegalStateException("the device refuses " + step);
                        });
        context().plan(refusal);
    }

    /** The heap is exhausted at the n-th call from now on that reaches the device. */
    void exhaustHeap(int at) {
        context()
                .plan(
                        new NthStep(
                                at,
                                step -> step.mayFail(),
                                step -> {
                                    failures++;
                                    network.note(name + " has no heap at " + step);
                                    throw new OutOfMemoryError("no heap, simulated");
                                }));
    }

    /** Direct memory is exhausted at the n-th allocation from now on, and at some behind it. */
    void exhaustMemory(int at, int times, boolean asError) {
        memory.fail(at, times, asError);
    }

    /** How often memory was exhausted. */
    int failures() {
        return failures;
    }

    /** Refuses nothing any more. */
    void recover() {
        memory.recover();
        context().plan(FaultPlan.NONE);
    }

    /** Bytes of direct memory that it has. */
    long memoryUsed() {
        return memory.budget().used();
    }

    /** Whether no message and no call has memory any more. */
    boolean isEmpty() {
        return group.registeredBytesInUse() == 0;
    }

    /** Ends, when nothing is left. */
    void shutdown() {
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }

    /** What is wrong after the end; {@code null} for nothing. */
    String problem() {
        FaultContext context = context();
        // With several connections it may well be that one ends while another one exposes.
        String rule =
                context.problems().stream()
                        .filter(problem -> !problem.contains("while a lost connection"))
                        .findFirst()
                        .orElse(null);
        if (rule != null) {
            return name + ": " + rule;
        }
        if (!context.queuePairs().isEmpty()) {
            return name + " has queue pairs at the end: " + context.queuePairs().size();
        }
        if (memory.budget().used() > 0) {
            return name + " has memory at the end: " + memory.budget();
        }
        return context.smallRegistrations() > 0
                ? name + " has registrations at the end: " + context.smallRegistrations()
                : null;
    }

    @Override
    public String toString() {
        return name;
    }
}
