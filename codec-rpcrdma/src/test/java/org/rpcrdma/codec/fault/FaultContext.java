// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.fault;

import io.netty.channel.Channel;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.DeviceCounter;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.Listener;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.iwarp.IwarpContext;

/** One event loop's share of a {@link FaultProvider}. Its event loop only, but for {@link #wakeup()}. */
public final class FaultContext implements EventLoopVerbsContext {

    /** Idle polls before a held event goes up. */
    private static final int PATIENCE = 3;

    /** When events are delivered. */
    public enum Delivery {
        AT_ONCE,
        /** Late, and one by one. */
        SINGLY,
        /** Late, and all that have gathered together. */
        BATCHED
    }

    /** The slabs of the pool are larger, what a call registers is smaller. */
    private static final int SLAB = 512 << 10;

    /** What a peer may name: a key with the offset of its first byte. */
    private record Exposed(int key, long offset) {}

    private final FaultProvider provider;
    private final EventLoopVerbsContext device;
    private final ArrayDeque<Runnable> held = new ArrayDeque<>();
    private final List<String> problems = new ArrayList<>();
    private boolean isDelivering;
    private final Set<Exposed> ever = new HashSet<>();
    private int idlePolls;
    private long registrations;
    private long underruns;
    private long lost;
    private Consumer<FaultQueuePair> atCreation = queuePair -> {};
    private Consumer<FaultQueuePair> atClose = queuePair -> {};

    final Set<FaultRegion> regions = new LinkedHashSet<>();
    final List<FaultQueuePair> queuePairs = new ArrayList<>();
    FaultPlan plan = FaultPlan.NONE;
    Delivery delivery = Delivery.AT_ONCE;

    private boolean needsMemoryAtOnce;
    private boolean hasRun;

    FaultContext(FaultProvider provider, EventLoopVerbsContext device) {
        this.provider = provider;
        this.device = device;
    }

    @Override
    public long nanoTime() {
        return device.nanoTime();
    }

    @Override
    public long value(DeviceCounter counter) {
        return device.value(counter);
    }

    public void plan(FaultPlan newPlan) {
        plan = newPlan;
    }

    /** From now on a receive has to be posted with its memory, as on hardware. */
    public void needMemoryAtOnce() {
        needsMemoryAtOnce = true;
    }

    public void delivery(Delivery newDelivery) {
        delivery = newDelivery;
    }

    /** Whether no event is held back. */
    public boolean isPrompt() {
        return delivery == Delivery.AT_ONCE;
    }

    /** Is told of every queue pair that is made from now on. */
    public void atCreation(Consumer<FaultQueuePair> action) {
        atCreation = action;
    }

    /** Is told of every queue pair that is closed from now on, while its channel has all handlers still. */
    public void atClose(Consumer<FaultQueuePair> action) {
        atClose = action;
    }

    /** Rules of the SPI that were broken. */
    public List<String> problems() {
        return List.copyOf(problems);
    }

    void problem(String problem) {
        problems.add(problem);
    }

    /** Whether a peer can reach some of these bytes now. */
    public boolean isExposed(long address, long length) {
        return queuePairs.stream().anyMatch(queuePair -> queuePair.exposes(address, length));
    }

    /** Whether the device may still use some of these bytes for work that was posted. */
    public boolean isPosted(long address, long length) {
        return queuePairs.stream().anyMatch(queuePair -> queuePair.uses(address, length));
    }

    /** Whether all work that was posted is complete, receives apart. */
    public boolean isAtRest() {
        return queuePairs.stream().allMatch(FaultQueuePair::isAtRest);
    }

    void created(FaultQueuePair queuePair) {
        queuePairs.add(queuePair);
        atCreation.accept(queuePair);
    }

    void closed(FaultQueuePair queuePair) {
        queuePairs.remove(queuePair);
        atClose.accept(queuePair);
    }

    void exposed(FaultQueuePair by, int key, long offset, boolean mayBeShared) {
        if (!ever.add(new Exposed(key, offset)) && !mayBeShared) {
            problem("a handle is used again");
        }
        for (FaultQueuePair other : queuePairs) {
            if (other != by && other.hasEnded() && other.exposures() > 0) {
                problem("memory is exposed anew while a lost connection still reaches some");
            }
        }
    }

    /** Whether its event loop has run since this was asked last. */
    public boolean hasRun() {
        boolean ran = hasRun;
        hasRun = false;
        return ran;
    }

    /** Calls for each channel that has a queue pair, and makes no copy of them. */
    public void forEachChannel(Consumer<Channel> action) {
        for (int i = 0; i < queuePairs.size(); i++) {
            Channel channel = queuePairs.get(i).channel();
            if (channel != null) {
                action.accept(channel);
            }
        }
    }

    /** The queue pairs that are not closed, in the order in which they were made. */
    public List<FaultQueuePair> queuePairs() {
        return List.copyOf(queuePairs);
    }

    /** Registrations that were made for one call or one work request and have not ended. */
    public long smallRegistrations() {
        return regions.stream().filter(region -> region.length() < SLAB).count();
    }

    /** Connections that were made and have ended. */
    public long lost() {
        return lost;
    }

    void countLost() {
        lost++;
    }

    /** Connections that have ended because a Send of the peer found no receive. */
    public long underruns() {
        return underruns;
    }

    void underrun() {
        underruns++;
    }

    /** Registrations ever made. */
    public long registrations() {
        return registrations;
    }

    /** Connections of the device that exist. */
    public long connections() {
        if (!(device instanceof IwarpContext iwarp)) {
            return queuePairs.stream().filter(FaultQueuePair::isConnected).count();
        }
        return iwarp.counters().connectionsOpened() - iwarp.counters().connectionsEnded();
    }

    /** An event goes up now, or waits. */
    void up(Runnable event) {
        if (delivery == Delivery.AT_ONCE && held.isEmpty()) {
            event.run();
        } else {
            idlePolls = 0;
            held.add(event);
        }
    }

    @Override
    public DeviceCapabilities capabilities() {
        DeviceCapabilities capabilities = device.capabilities();
        return capabilities.toBuilder()
                .exactExposure(provider.hasExactExposure())
                .remoteInvalidation(
                        capabilities.remoteInvalidation() && provider.hasRemoteInvalidation())
                .receivesWithoutMemory(capabilities.receivesWithoutMemory() && !needsMemoryAtOnce)
                .build();
    }

    @Override
    public int poll(int budget) {
        return delivering(() -> pollAndDeliver(budget));
    }

    @Override
    public int deliverQueued() {
        return delivering(device::deliverQueued);
    }

    /** No handler is called from inside another one. */
    private int delivering(IntSupplier delivery) {
        if (isDelivering) {
            problem("a handler polls, or delivers queued events");
        }
        isDelivering = true;
        try {
            return delivery.getAsInt();
        } finally {
            isDelivering = false;
        }
    }

    private int pollAndDeliver(int budget) {
        int worked = device.poll(budget);
        hasRun = true;
        if (held.isEmpty()) {
            return worked;
        }
        if (worked > 0 && delivery != Delivery.AT_ONCE) {
            idlePolls = 0;
            return worked;
        }
        if (delivery == Delivery.AT_ONCE || ++idlePolls >= PATIENCE) {
            idlePolls = 0;
            int batch = delivery == Delivery.SINGLY ? 1 : held.size();
            for (int i = 0; i < batch; i++) {
                held.poll().run();
            }
        }
        return worked + 1;
    }

    @Override
    public boolean hasReadyConnections() {
        return device.hasReadyConnections();
    }

    @Override
    public boolean isLingering() {
        return device.isLingering();
    }

    @Override
    public void await(long nanos) throws IOException {
        hasRun = true;
        if (held.isEmpty()) {
            device.await(nanos);
        }
    }

    @Override
    public void wakeup() {
        device.wakeup();
    }

    @Override
    public MemoryRegion register(ByteBuffer memory, long address) {
        plan.before(Step.REGISTER);
        FaultRegion region = new FaultRegion(this, memory, device.register(memory, address));
        regions.add(region);
        registrations++;
        return region;
    }

    @Override
    public QueuePair createQueuePair(QueuePairConfig config, QueuePairHandler handler)
            throws IOException {
        plan.before(Step.CREATE);
        FaultQueuePair queuePair = new FaultQueuePair(this, handler);
        return queuePair.on(device.createQueuePair(config, queuePair));
    }

    @Override
    public QueuePair createQueuePair(
            ConnectionRequest request, QueuePairConfig config, QueuePairHandler handler)
            throws IOException {
        try {
            plan.before(Step.CREATE);
        } catch (RuntimeException e) {
            request.reject(new byte[0]); // it is used up all the same
            throw e;
        }
        FaultQueuePair queuePair = new FaultQueuePair(this, handler);
        return queuePair.on(device.createQueuePair(request, config, queuePair));
    }

    @Override
    public Listener listen(InetSocketAddress local, int backlog, ListenerHandler handler)
            throws IOException {
        return device.listen(
                local,
                backlog,
                new ListenerHandler() {
                    @Override
                    public void connectionRequested(ConnectionRequest request) {
                        handler.connectionRequested(request);
                        plan.after(Step.REQUESTED);
                    }

                    @Override
                    public void acceptFailed(Throwable cause) {
                        handler.acceptFailed(cause);
                    }
                });
    }

    @Override
    public void close() {
        device.close();
    }
}
