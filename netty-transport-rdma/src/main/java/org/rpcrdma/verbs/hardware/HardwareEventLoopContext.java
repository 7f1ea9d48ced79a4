// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.collection.IntObjectMap;
import io.netty.util.internal.PlatformDependent;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import org.rpcrdma.verbs.CompletionError;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.DeviceCounter;
import org.rpcrdma.verbs.Listener;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.VerbsContext;

/**
 * One event loop's share of a device: its memory, its queue pairs and listeners, and what is to be done in which order.
 */
public final class HardwareEventLoopContext implements VerbsContext {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(HardwareEventLoopContext.class);

    private final NativeDevice device;
    private final ProviderSettings config;
    private final Registrations registrations;

    /** {@code null} where the device has none. */
    private final MemoryWindowPool windows;

    private final CompletionQueue completions;
    private int completionsPromised;
    private final IntObjectMap<HardwareQueuePair> queuePairs = new IntObjectHashMap<>();
    private final Set<HardwareListener> listeners = new LinkedHashSet<>();

    /** What is to be done by the next poll. */
    private final Queue<Runnable> pending = PlatformDependent.newMpscQueue();

    /** Queue pairs with receives that the device has not got yet. */
    private final ArrayDeque<HardwareQueuePair> withReceives = new ArrayDeque<>();

    private final DrainDeadlines deadlines = new DrainDeadlines();
    private int lastSerial;
    private boolean pollFails;
    private boolean closed;

    /**
     * @param device belongs to this context, which closes it
     */
    public HardwareEventLoopContext(NativeDevice device, ProviderSettings config) {
        this.device = device;
        this.config = config;
        registrations = new Registrations(device, config.registrationCache());
        windows = device.capabilities().remoteInvalidation() ? new MemoryWindowPool(device) : null;
        completions = new CompletionQueue(device, queuePairs);
    }

    NativeDevice device() {
        return device;
    }

    ProviderSettings config() {
        return config;
    }

    Registrations registrations() {
        return registrations;
    }

    MemoryWindowPool windows() {
        return windows;
    }

    /** How many memory windows a queue pair may bind before the first of these work requests is complete. */
    int binds(QueuePairConfig size) {
        return windows == null ? 0 : Math.max(1, size.sendDepth());
    }

    CompletionQueue completionQueue() {
        return completions;
    }

    @Override
    public DeviceCapabilities capabilities() {
        return device.capabilities();
    }

    /** Has something done by the next poll. Callable from any thread. */
    void later(Runnable action) {
        pending.add(action);
        device.wakeup();
    }

    void hasReceives(HardwareQueuePair queuePair) {
        withReceives.add(queuePair);
    }

    ReadSinkKeys readSinks(int ranges) {
        return device.needsRemoteSinks()
                ? new IwarpReadSinkKeys(registrations, ranges)
                : ReadSinkKeys.LOCAL;
    }

    DrainDeadlines deadlines() {
        return deadlines;
    }

    @Override
    public long value(DeviceCounter counter) {
        return counter == DeviceCounter.COMPLETIONS_FAILED ? completions.failed() : -1;
    }

    @Override
    public long value(CompletionError error) {
        return completions.failed(error);
    }

    @Override
    public int poll(int budget) {
        if (closed) {
            return 0;
        }
        postReceives();
        deadlines.expire();
        int delivered = runPending(budget);
        delivered += device.deliverEvents(budget - delivered);
        try {
            delivered += completions.deliver(budget - delivered);
            pollFails = false;
        } catch (IOException e) {
            if (!pollFails) {
                logger.warn("The completion queue cannot be polled", e);
            }
            pollFails = true;
        }
        return delivered;
    }

    /** All that have come, for who cannot wait until it is their turn. From inside of a poll. */
    void deliverEvents() {
        device.deliverEvents(Integer.MAX_VALUE);
    }

    /** Those that come meanwhile wait. */
    private int runPending(int budget) {
        int count = Math.min(pending.size(), budget);
        for (int i = 0; i < count && !closed; i++) {
            try {
                pending.remove().run();
            } catch (RuntimeException e) {
                logger.warn("What was left to do failed", e);
            }
        }
        return count;
    }

    private void postReceives() {
        for (HardwareQueuePair queuePair = withReceives.poll();
                queuePair != null;
                queuePair = withReceives.poll()) {
            queuePair.postGathered();
        }
    }

    @Override
    public void await(long nanos) throws IOException {
        postReceives();
        if (nanos == 0 || !pending.isEmpty()) {
            return;
        }
        long limit = nanos < 0 ? Long.MAX_VALUE : nanos;
        limit = Math.min(limit, deadlines.nanosLeft());
        if (limit <= 0) {
            return;
        }
        device.arm();
        if (!completions.hasNext() && pending.isEmpty()) {
            device.sleep(limit);
        }
    }

    @Override
    public void wakeup() {
        device.wakeup();
    }

    @Override
    public MemoryRegion register(ByteBuffer memory, long address) {
        if (!memory.isDirect() || memory.isReadOnly()) {
            throw new IllegalArgumentException(
                    "Only direct, writable memory can be registered, this is "
                            + memory
                            + "; use a direct buffer");
        }
        ByteBuffer bytes = memory.slice();
        if (device.address(bytes) != address) {
            throw new IllegalArgumentException(
                    String.format(
                            "Address %#x is not where the memory is; a device needs the native"
                                    + " address: take Java 22 or newer, or let Netty use"
                                    + " sun.misc.Unsafe",
                            address));
        }
        return new RegisteredMemoryRegion(registrations, bytes, address);
    }

    @Override
    public QueuePair createQueuePair(QueuePairConfig size, QueuePairHandler handler)
            throws IOException {
        requireRoom(size);
        return track(new HardwareQueuePair(this, size, ++lastSerial, handler, null));
    }

    @Override
    public QueuePair createQueuePair(
            ConnectionRequest request, QueuePairConfig size, QueuePairHandler handler)
            throws IOException {
        if (!(request instanceof HardwareConnectionRequest mine)) {
            throw new IllegalArgumentException(
                    "Connection request is of another provider ("
                            + request
                            + "); use the context of its own provider");
        }
        mine.take();
        NativeId id = mine.id();
        try {
            if (!id.isOn(device)) {
                throw new IOException(
                        "The connection from "
                                + request.remoteAddress()
                                + " came to another RDMA device than "
                                + device
                                + "; listen at an address of that device, or name the other one"
                                + " with -D"
                                + config.prefix()
                                + config.chooser());
            }
            requireRoom(size);
            HardwareQueuePair queuePair =
                    new HardwareQueuePair(this, size, ++lastSerial, handler, mine);
            mine.handTo(device, queuePair.connection());
            queuePair.createNative();
            return track(queuePair);
        } catch (IOException | RuntimeException | Error e) {
            id.destroy();
            throw e;
        }
    }

    private HardwareQueuePair track(HardwareQueuePair queuePair) {
        queuePairs.put(queuePair.serial(), queuePair);
        completionsPromised += entries(queuePair.size());
        return queuePair;
    }

    /** A completion queue that overflows breaks all its connections: room is promised beforehand. */
    private void requireRoom(QueuePairConfig size) throws IOException {
        QueuePairConfigCheck.check(size, capabilities().maxReadDepth());
        int wanted = entries(size);
        int promised = completionsPromised + completions.leftBehind();
        if (promised + wanted > device.completions()) {
            throw new IOException(
                    "The completion queue of this event loop has "
                            + device.completions()
                            + " entries, of which "
                            + promised
                            + " are promised and "
                            + wanted
                            + " wanted; raise -D"
                            + config.prefix()
                            + "completions, use more event loops or smaller SEND_DEPTH and"
                            + " RECEIVE_DEPTH");
        }
    }

    private int entries(QueuePairConfig size) {
        return size.sendDepth() + binds(size) + size.receiveDepth();
    }

    /**
     * @param left how many work requests the device had, which may be in the queue as flushed
     */
    void remove(HardwareQueuePair queuePair, int left) {
        if (queuePairs.remove(queuePair.serial()) != null) {
            completionsPromised -= entries(queuePair.size());
            completions.leave(left);
            withReceives.remove(queuePair);
        }
    }

    @Override
    public Listener listen(InetSocketAddress local, int backlog, ListenerHandler handler)
            throws IOException {
        HardwareListener listener = new HardwareListener(this, local, backlog, handler);
        listeners.add(listener);
        return listener;
    }

    void remove(HardwareListener listener) {
        listeners.remove(listener);
    }

    /** The device, for a person to read. */
    @Override
    public String toString() {
        return device.toString();
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        List.copyOf(listeners).forEach(HardwareListener::close);
        List.copyOf(queuePairs.values()).forEach(HardwareQueuePair::close);
        if (windows != null) {
            windows.close();
        }
        registrations.close();
        pending.clear();
        device.close();
    }
}
