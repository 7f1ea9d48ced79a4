// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.fault;

import io.netty.channel.Channel;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import org.rpcrdma.channel.SimulatedChannels;
import org.rpcrdma.codec.wire.TransportHeader;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.ReceiveMemoryRange;
import org.rpcrdma.verbs.WorkStatus;

/** A queue pair between the channel and the device: sees every call and every event, and what each Send says. */
public final class FaultQueuePair implements QueuePair, QueuePairHandler {

    /** What is seen of each Send when its memory is named. */
    @FunctionalInterface
    public interface SendWatcher {
        /**
         * A Send with its length, the words of its fixed header, and the messages that the peer may have out when it
         * has seen it: those for which there are receives, and those that have come and are not answered.
         */
        void send(int length, int xid, int credits, int procedure, int covered);
    }

    /** What is seen of each Send of the peer when it has come. */
    @FunctionalInterface
    public interface ReceiveWatcher {
        /** A message with the words of its fixed header, and whether a Read list follows. */
        void received(int xid, int credits, int procedure, boolean hasReads);
    }

    private static final int FIXED_HEADER = 16;

    private static final long SEND_QUEUE = 1L << 62;

    /** Bytes of memory, and the work request that names them. */
    private record Range(long id, long address, long length) {
        boolean meets(long start, long bytes) {
            return address < start + bytes && start < address + length;
        }
    }

    private final FaultContext context;
    private final QueuePairHandler handler;
    private final Map<Integer, Range> exposed = new LinkedHashMap<>();

    private final Set<Integer> withoutMemory = new HashSet<>();
    private final ArrayDeque<Range> posted = new ArrayDeque<>();
    private final Set<Integer> keysEver = new LinkedHashSet<>();
    private boolean exposedWhole = true;
    private QueuePair device;
    private Channel channel;
    private boolean isClosed;
    private boolean isBroken;
    private boolean isSend;
    private boolean hasReads;
    private boolean hasEnded;
    private boolean isConnected;
    private long opened;
    private boolean hasFailed;
    private int postedReceives;
    private int received;
    private int sent;
    private SendWatcher watcher = (length, xid, credits, procedure, posted) -> {};

    /** {@code null} for nobody. */
    private ReceiveWatcher receiveWatcher;

    /** Where the next messages come to: receives complete in the order in which they were posted or got memory. */
    private final Deque<Long> addresses = new ArrayDeque<>();

    FaultQueuePair(FaultContext context, QueuePairHandler handler) {
        this.context = context;
        this.handler = handler;
    }

    /** {@return the channel over it} {@code null} when somebody else is told of it. */
    public Channel channel() {
        if (channel == null) {
            channel = SimulatedChannels.of(handler);
        }
        return channel;
    }

    FaultQueuePair on(QueuePair queuePair) {
        device = queuePair;
        context.created(this);
        return this;
    }

    public void watch(SendWatcher newWatcher) {
        watcher = newWatcher;
    }

    /** Whether a Read list follows in the message that the {@link SendWatcher} is told of. */
    public boolean hasReads() {
        return hasReads;
    }

    public void watchReceives(ReceiveWatcher newWatcher) {
        receiveWatcher = newWatcher;
    }

    /** Keys that were exposed and that nobody has invalidated. */
    public int exposures() {
        exposed.keySet().removeIf(key -> !device.isExposed(key));
        return exposed.size();
    }

    /** The bytes behind them: each key counts. */
    public long exposedBytes() {
        return exposures() == 0 ? 0 : exposed.values().stream().mapToLong(Range::length).sum();
    }

    /** As {@link #exposures}, with those that have no memory of their own. */
    public int keys() {
        withoutMemory.removeIf(key -> !device.isExposed(key));
        return exposures() + withoutMemory.size();
    }

    boolean exposes(long address, long length) {
        return exposures() > 0
                && exposed.values().stream().anyMatch(range -> range.meets(address, length));
    }

    boolean isAtRest() {
        return posted.isEmpty();
    }

    boolean uses(long address, long length) {
        return posted.stream().anyMatch(range -> range.meets(address, length));
    }

    /** Whether the channel was told that the connection is over. */
    boolean hasEnded() {
        return hasEnded;
    }

    /** Whether the device has a connection. */
    boolean isConnected() {
        return isConnected;
    }

    /** How many different keys were exposed. */
    public int keysEver() {
        return keysEver.size();
    }

    /** Whether every registration that was exposed had no other bytes than those. */
    public boolean exposedWholeRegistrations() {
        return exposedWhole;
    }

    /** Receives that the device holds. */
    public int postedReceives() {
        return postedReceives;
    }

    /** The connection breaks now: what is posted so far is carried out, everything later is flushed. */
    public void breakDown() {
        if (!isBroken && !isClosed) {
            isBroken = true;
            device.disconnect();
        }
    }

    /** Hands what was opened so far to the device, unseen. */
    public void doorbellNow() {
        device.doorbell();
    }

    // ------------------------------------------------------------------ calls

    private void before(Step step) {
        context.plan.before(step);
    }

    @Override
    public void connect(InetSocketAddress remote, InetSocketAddress local, byte[] privateData) {
        before(Step.CONNECT);
        device.connect(remote, local, privateData);
    }

    @Override
    public void trafficClass(int octet) {
        device.trafficClass(octet);
    }

    @Override
    public void accept(byte[] privateData) {
        before(Step.ACCEPT);
        device.accept(privateData);
    }

    @Override
    public InetSocketAddress localAddress() {
        return device.localAddress();
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return device.remoteAddress();
    }

    @Override
    public void postReceive(long id, long address, int length, int localKey) {
        before(Step.POST_RECEIVE);
        device.postReceive(id, address, length, localKey);
        postedReceives++;
        addresses.add(address);
    }

    @Override
    public void postReceive(long id, int length) {
        before(Step.POST_RECEIVE);
        device.postReceive(id, length);
        postedReceives++;
    }

    @Override
    public ReceiveMemoryRange receiveMemory(long id, int length) {
        ReceiveMemoryRange memory = handler.receiveMemory(id, length);
        if (memory != null) {
            addresses.add(memory.address());
        }
        return memory;
    }

    @Override
    public ReceiveMemoryRange writeMemory(int key, int start, int length) {
        return handler.writeMemory(key, start, length);
    }

    @Override
    public long unannounced() {
        return handler.unannounced();
    }

    @Override
    public void send(long id, int flags) {
        before(Step.SEND);
        isSend = true;
        opened = id;
        device.send(id, flags);
    }

    @Override
    public void sendWithInvalidate(long id, int flags, int remoteKey) {
        before(Step.SEND);
        isSend = true;
        opened = id;
        device.sendWithInvalidate(id, flags, remoteKey);
    }

    @Override
    public void write(long id, int flags, long remoteAddress, int remoteKey) {
        before(Step.WRITE);
        isSend = false;
        opened = id;
        device.write(id, flags, remoteAddress, remoteKey);
    }

    @Override
    public void read(long id, int flags, long remoteAddress, int remoteKey) {
        before(Step.READ);
        isSend = false;
        opened = id;
        device.read(id, flags, remoteAddress, remoteKey);
    }

    @Override
    public void gather(long address, int length, int localKey) {
        before(Step.GATHER);
        if (isSend && length >= 16 && !isBroken) {
            sent++;
            for (FaultRegion region : context.regions) {
                if (region.localKey() == localKey) {
                    hasReads =
                            length > FIXED_HEADER
                                    && region.word(address + 12) <= TransportHeader.RDMA_NOMSG
                                    && hasReads(region, address);
                    watcher.send(
                            length,
                            region.word(address),
                            region.word(address + 8),
                            region.word(address + 12),
                            postedReceives + received - sent);
                }
            }
        }
        device.gather(address, length, localKey);
        posted.add(new Range(opened, address, length));
    }

    @Override
    public void doorbell() {
        before(Step.DOORBELL);
        device.doorbell();
    }

    @Override
    public int expose(MemoryRegion region, long address, int length, int access) {
        before(Step.EXPOSE);
        int key = device.expose(((FaultRegion) region).device, address, length, access);
        exposed.put(key, new Range(0, address, length));
        context.exposed(this, key, device.exposedOffset(key), (access & SHARED) != 0);
        keysEver.add(key);
        exposedWhole &= region.length() == length;
        return key;
    }

    @Override
    public int expose(int length) {
        before(Step.EXPOSE);
        int key = device.expose(length);
        withoutMemory.add(key);
        return key;
    }

    @Override
    public long exposedOffset(int key) {
        return device.exposedOffset(key);
    }

    @Override
    public boolean isExposed(int key) {
        return device.isExposed(key);
    }

    @Override
    public void invalidate(int key) {
        before(Step.INVALIDATE);
        device.invalidate(key);
    }

    @Override
    public int outboundReads() {
        return device.outboundReads();
    }

    @Override
    public void keepAlive(int idleSeconds) {
        device.keepAlive(idleSeconds);
    }

    @Override
    public void disconnect() {
        device.disconnect();
    }

    @Override
    public void close() {
        leave();
        isClosed = true;
        posted.clear();
        context.closed(this);
        device.close();
    }

    private void leave() {
        if (isConnected) {
            context.countLost();
        }
        isConnected = false;
    }

    // ------------------------------------------------------------------ events

    private void up(Runnable event) {
        context.up(
                () -> {
                    if (!isClosed) {
                        event.run();
                    }
                });
    }

    @Override
    public void connected(byte[] privateData) {
        isConnected = true;
        up(
                () -> {
                    handler.connected(privateData);
                    context.plan.after(Step.CONNECTED);
                });
    }

    @Override
    public void connectFailed(Throwable cause) {
        up(
                () -> {
                    handler.connectFailed(cause);
                    context.plan.after(Step.CONNECT_FAILED);
                });
    }

    @Override
    public void completed(long id, WorkStatus status, int length, int invalidatedKey) {
        Step step = (id & SEND_QUEUE) != 0 ? Step.WORK_DONE : Step.RECEIVED;
        while (step == Step.WORK_DONE && !posted.isEmpty() && posted.peek().id <= id) {
            posted.poll();
        }
        if (status != WorkStatus.SUCCESS) {
            isBroken = true;
        } else if (step == Step.RECEIVED) {
            postedReceives--;
            received++;
            Long address = addresses.poll();
            if (receiveWatcher != null && address != null && length >= FIXED_HEADER) {
                watchReceived(address, length);
            }
        }
        up(
                () -> {
                    WorkStatus reported = status;
                    if (status == WorkStatus.SUCCESS) {
                        // After an error nothing succeeds any more.
                        reported = hasFailed ? WorkStatus.FLUSHED : context.plan.status(step);
                        hasFailed |= reported != WorkStatus.SUCCESS;
                    }
                    int received = reported == WorkStatus.SUCCESS ? length : 0;
                    handler.completed(id, reported, received, invalidatedKey);
                    context.plan.after(step);
                });
    }

    private void watchReceived(long address, int length) {
        for (FaultRegion region : context.regions) {
            if (region.address() <= address
                    && address + length <= region.address() + region.length()) {
                // Elsewhere in version two, which has no replies in Read chunks.
                receiveWatcher.received(
                        region.word(address),
                        region.word(address + 8),
                        region.word(address + 12),
                        length > FIXED_HEADER && hasReads(region, address));
                return;
            }
        }
    }

    private static boolean hasReads(FaultRegion region, long address) {
        return region.word(address + 4) == 1 && region.word(address + FIXED_HEADER) != 0;
    }

    @Override
    public void disconnected(Throwable cause) {
        leave();
        if (cause != null && String.valueOf(cause.getMessage()).contains("no receive is posted")) {
            context.underrun();
        }
        up(
                () -> {
                    hasEnded = true;
                    handler.disconnected(cause);
                    context.plan.after(Step.DISCONNECTED);
                });
    }
}
