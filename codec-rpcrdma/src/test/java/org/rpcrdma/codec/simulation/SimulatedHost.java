// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.SimulatedGroups;
import org.rpcrdma.codec.fault.FaultContext;
import org.rpcrdma.codec.fault.FaultPlan;
import org.rpcrdma.codec.fault.FaultProvider;
import org.rpcrdma.codec.fault.NthStep;
import org.rpcrdma.codec.fault.Step;
import org.rpcrdma.verbs.FailingMemory;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;

/** An event loop of its own, over a device that keeps account and can refuse. */
final class SimulatedHost {

    /** Calls of one kind are not so many. */
    private static final int MOST_OF_ONE_KIND = 25;

    private static final int TAKEN_BYTES = 16 << 10;

    final RdmaEventLoopGroup group;
    final SimulatedDevice kind;
    private final SimulatedNetwork network;
    private final String name;
    private final FaultProvider device;
    private final FailingMemory memory;
    private final List<ByteBuf> taken = new ArrayList<>();

    /** Whether somebody has them, or would have them if there were any. */
    private boolean isTaken;

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
        kind = new SimulatedDevice(network.seed(), name);
        device = new FaultProvider(network.provider(kind.config, memory.budget()));
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

    /**
     * Refuses the n-th call from now on that the device can refuse: a registration, a work request, a connection.
     *
     * @param only the one kind that counts; {@code null} for all of them
     */
    void refuse(int at, Step only) {
        refuse(
                at,
                only,
                step -> {
                    network.note(name + " refuses " + step);
                    throw new IllegalStateException("the device refuses " + step);
                });
    }

    /**
     * The heap is exhausted at the n-th call from now on that reaches the device.
     *
     * @param only the one kind that counts; {@code null} for all of them
     */
    void exhaustHeap(int at, Step only) {
        refuse(
                at,
                only,
                step -> {
                    failures++;
                    network.note(name + " has no heap at " + step);
                    throw new OutOfMemoryError("no heap, simulated");
                });
    }

    private void refuse(int at, Step only, Consumer<Step> refusal) {
        context()
                .plan(
                        new NthStep(
                                only == null ? at : at % MOST_OF_ONE_KIND,
                                step -> only == null ? step.mayFail() : step == only,
                                refusal));
    }

    /**
     * Somebody has nearly all of the registered memory for a time, and no more of it is to be had: what is small finds
     * memory, and what is long waits.
     */
    void takeRegisteredMemory(int millis) {
        group.next()
                .execute(
                        () -> {
                            isTaken = true;
                            memory.fail(0, Integer.MAX_VALUE, false);
                            taken.addAll(SimulatedGroups.takeRegistered(group, TAKEN_BYTES));
                            network.note(name + " lends " + taken.size() + " buffers");
                            group.next()
                                    .schedule(
                                            this::giveBackAndRecover,
                                            millis,
                                            TimeUnit.MILLISECONDS);
                        });
    }

    private void giveBackAndRecover() {
        if (isTaken) {
            isTaken = false;
            taken.forEach(ByteBuf::release);
            taken.clear();
            memory.recover();
        }
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
        group.next().execute(this::giveBackAndRecover);
    }

    /** Bytes of direct memory that it has. */
    long memoryUsed() {
        return memory.budget().used();
    }

    /** Whether no message and no call has memory any more. */
    boolean isEmpty() {
        return group.registeredBytesInUse() == 0;
    }

    /** Whether anything is to be done later. */
    boolean hasTimers() {
        return SimulatedGroups.hasTimers(group);
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
