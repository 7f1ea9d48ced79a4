// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.SimulatedChannels;
import org.rpcrdma.channel.SimulatedGroups;
import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.fault.FaultContext;
import org.rpcrdma.codec.fault.FaultPlan;
import org.rpcrdma.codec.fault.FaultProvider;
import org.rpcrdma.codec.fault.FaultQueuePair;
import org.rpcrdma.codec.fault.NthStep;
import org.rpcrdma.codec.fault.Step;
import org.rpcrdma.verbs.FailingMemory;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;

/** An event loop of its own, over a device that keeps account and can refuse. */
final class SimulatedHost {

    /** Calls of one kind are not so many. */
    private static final int MOST_OF_ONE_KIND = 25;

    private static final int TAKEN_BYTES = 16 << 10;

    /** Where the state of a connection is. */
    private static final Set<String> CONNECTION_PACKAGES =
            Set.of(RdmaChannel.class.getPackageName(), RpcRdmaConnection.class.getPackageName());

    /** What has several connections, or is over later. */
    private static final Set<String> SHARED =
            Set.of("EventLoopDevicePoller", "RdmaEventLoop", "DuplicateRequestCacheAccess");

    /** Each object that is reached is asked for its class. */
    private static final ClassValue<Boolean> OF_ONE_CONNECTION =
            new ClassValue<>() {
                @Override
                protected Boolean computeValue(Class<?> type) {
                    return isPartOfOneConnection(type);
                }
            };

    final RdmaEventLoopGroup group;
    final SimulatedDevice kind;
    private final SimulatedNetwork network;
    private final String name;
    private final FaultContext context;
    private final FailingMemory memory;
    private final List<ByteBuf> taken = new ArrayList<>();
    private final List<Ended> ended = new ArrayList<>();

    /** A channel whose queue pair is closed, and what its pipeline had then. */
    private record Ended(Channel channel, List<Object> parts) {}

    /** Whether somebody has them, or would have them if there were any. */
    private boolean isTaken;

    private int failures;
    private int refusals;
    private Channel unflushed;
    private final Consumer<Channel> lookForUnflushed = this::lookForUnflushed;

    SimulatedHost(SimulatedNetwork network, String name, Random random) {
        this(network, SimulatedDevice.of(network.seed(), name), name, random);
    }

    /** In a world with a crowd with the usual device: a start-up at a time is taken by those that send nothing. */
    SimulatedHost(SimulatedWorld world, String name, Random random) {
        this(
                world.network,
                world.plan.has(SimulationAction.Kind.CROWD)
                        ? SimulatedDevice.usual()
                        : SimulatedDevice.of(world.network.seed(), name),
                name,
                random);
    }

    SimulatedHost(SimulatedNetwork network, SimulatedDevice kind, String name, Random random) {
        this.network = network;
        this.kind = kind;
        this.name = name;
        memory =
                new FailingMemory(
                        bytes -> {
                            failures++;
                            network.note(name + " has no memory for " + bytes + " bytes");
                        });
        FaultProvider device = new FaultProvider(network.provider(kind.config, memory.budget()));
        group =
                SimulatedGroups.single(
                        network.executor(),
                        device,
                        random.nextBoolean() ? PollMode.BLOCKING : PollMode.ADAPTIVE,
                        memory.budget());
        context = device.context();
        context.atClose(this::ended);
        switch (random.nextInt(6)) {
            case 0 -> context.delivery(FaultContext.Delivery.SINGLY);
            case 1 -> context.delivery(FaultContext.Delivery.BATCHED);
            default -> {}
        }
    }

    FaultContext context() {
        return context;
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
                    refusals++;
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
        takeRegisteredMemory(millis, TAKEN_BYTES);
    }

    /** As the other one: what takes no more than {@code bytes} is small. */
    void takeRegisteredMemory(int millis, int bytes) {
        group.next()
                .execute(
                        () -> {
                            isTaken = true;
                            memory.fail(0, Integer.MAX_VALUE, false);
                            taken.addAll(SimulatedGroups.takeRegistered(group, bytes));
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

    /** How often the device has refused something. */
    int refusals() {
        return refusals;
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

    private void ended(FaultQueuePair queuePair) {
        Channel channel = queuePair.channel();
        if (channel == null) {
            return;
        }
        List<Object> parts = new ArrayList<>(channel.pipeline().toMap().values());
        parts.add(channel);
        ended.add(new Ended(channel, parts));
    }

    /** {@return a timer of a channel that has ended} {@code null} when there is none. */
    String timerOfEnded() {
        String found = null;
        for (Iterator<Ended> each = ended.iterator(); each.hasNext(); ) {
            Ended one = each.next();
            // Its handlers have been told by then.
            if (!one.channel.isRegistered()) {
                List<String> timers =
                        SimulatedChannels.timers(one.parts, SimulatedHost::isOfOneConnection);
                boolean isTimed =
                        SimulatedChannels.timed(group.next(), SimulatedHost::isOfOneTimer)
                                .contains(one.channel);
                if (isTimed || !timers.isEmpty()) {
                    found = name + ": " + timers + " of " + one.channel;
                }
                each.remove();
            }
        }
        return found;
    }

    /** The cache of a server may wait for late answers, which {@link #hasTimers} sees when they have come. */
    private static boolean isOfOneConnection(Class<?> type) {
        return OF_ONE_CONNECTION.get(type);
    }

    private static boolean isPartOfOneConnection(Class<?> type) {
        return CONNECTION_PACKAGES.contains(type.getPackageName())
                && !type.isHidden()
                && !Channel.class.isAssignableFrom(type)
                && !SHARED.contains(type.getSimpleName());
    }

    /** What a timer has to know of it is often in a lambda. */
    private static boolean isOfOneTimer(Class<?> type) {
        return CONNECTION_PACKAGES.contains(type.getPackageName())
                && !SHARED.contains(type.getSimpleName());
    }

    /** {@return a channel that has something to send that nobody flushes} {@code null} when there is none. */
    Channel unflushed() {
        unflushed = null;
        if (context().hasRun()) {
            context().forEachChannel(lookForUnflushed);
        }
        return unflushed;
    }

    private void lookForUnflushed(Channel channel) {
        if (channel.isActive()
                && channel instanceof RdmaChannel
                && SimulatedChannels.hasUnflushed(channel)
                && SimulatedChannels.isIdle(channel)
                && RpcRdmaConnection.of(channel) != null) {
            unflushed = channel;
        }
    }

    /** {@return a channel for which bytes of messages count that are whole} {@code null} when there is none. */
    Channel countedForNothing() {
        Channel[] found = {null};
        context()
                .forEachChannel(
                        channel -> {
                            boolean isCounted =
                                    channel.isActive()
                                            && SimulatedChannels.isIdle(channel)
                                            && SimulatedChannels.bytesOfNoMessage(channel) > 0;
                            found[0] = isCounted ? channel : found[0];
                        });
        return found[0];
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
