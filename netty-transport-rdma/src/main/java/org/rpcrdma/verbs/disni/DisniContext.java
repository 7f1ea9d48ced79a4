// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.util.MemoryUtils;
import com.ibm.disni.verbs.IbvCQ;
import com.ibm.disni.verbs.IbvCompChannel;
import com.ibm.disni.verbs.IbvPd;
import com.ibm.disni.verbs.RdmaCmId;
import com.ibm.disni.verbs.RdmaProvider;
import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.collection.IntObjectMap;
import io.netty.util.internal.PlatformDependent;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.Listener;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.VerbsContext;

/** One event loop's share of a device: a protection domain, a completion queue with its channel, and its queue pairs. */
final class DisniContext implements VerbsContext {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(DisniContext.class);

    /** DiSNI asks for the device's limit in both directions and does not tell it. */
    private static final int MAX_READ_DEPTH = 128;

    private final DisniConfig config;
    private final DeviceCapabilities capabilities;
    final CmEvents events;
    final DataPath path;
    final LocalDevice device;
    final IbvPd domain;
    final IbvCQ queue;
    final Registrations registrations;
    private final NotificationThread notifications;
    private final CompletionQueue completions;
    private final int completionsMax;
    private int completionsPromised;
    private final Alarm alarm = new Alarm();
    private final IntObjectMap<DisniQueuePair> queuePairs = new IntObjectHashMap<>();
    private final Set<DisniListener> listeners = new LinkedHashSet<>();

    /** What is to be done by the next poll. */
    private final Queue<Runnable> pending = PlatformDependent.newMpscQueue();

    /** Queue pairs with receives that the device has not got yet. */
    private final ArrayDeque<DisniQueuePair> withReceives = new ArrayDeque<>();

    private final Deadlines deadlines = new Deadlines();
    private int lastSerial;
    private boolean pollFails;
    private boolean closed;

    DisniContext(DisniConfig config) throws IOException {
        this.config = config;
        this.capabilities =
                new DeviceCapabilities(
                        PostedSends.MAX_RANGES,
                        MAX_READ_DEPTH,
                        0,
                        false,
                        true,
                        config.registrationCache() > 0,
                        true,
                        false,
                        false,
                        false,
                        false,
                        false);
        List<AutoCloseable> undo = new ArrayList<>();
        try {
            path = NativeInternals.dataPath(RdmaProvider.provider());
            events = CmEvents.acquire();
            undo.add(CmEvents::release);
            device = LocalDevice.find(events, config.address());
            undo.add(device);
            domain = device.verbs.allocPd();
            undo.add(domain::deallocPd);
            IbvCompChannel channel = device.verbs.createCompChannel();
            undo.add(channel::destroyCompChannel);
            SizedQueue sized = SizedQueue.create(device.verbs, channel, config.completions());
            queue = sized.queue();
            completionsMax = sized.entries();
            undo.add(queue::destroyCQ);
            registrations = new Registrations(domain, config.registrationCache());
            completions = new CompletionQueue(path, queue, queuePairs);
            notifications = new NotificationThread(channel, queue, alarm, this::queueDestroyed);
        } catch (IOException | RuntimeException | Error e) {
            undo(undo, e);
            throw e;
        }
    }

    private static void undo(List<AutoCloseable> undo, Throwable cause) {
        for (int i = undo.size() - 1; i >= 0; i--) {
            try {
                undo.get(i).close();
            } catch (Exception e) {
                cause.addSuppressed(e);
            }
        }
    }

    /** The last resources go with the queue, since they are used by it. */
    private void queueDestroyed() {
        try {
            domain.deallocPd();
        } catch (Exception e) {
            logger.debug("The protection domain could not be freed", e);
        }
        device.close();
        CmEvents.release();
    }

    DisniConfig config() {
        return config;
    }

    @Override
    public DeviceCapabilities capabilities() {
        return capabilities;
    }

    /** Has something done by the next poll. Callable from any thread. */
    void later(Runnable action) {
        pending.add(action);
        alarm.ring();
    }

    void hasReceives(DisniQueuePair queuePair) {
        withReceives.add(queuePair);
    }

    ReadSinks readSinks(int ranges) {
        return device.mayBeIwarp ? new IwarpReadSinks(registrations, ranges) : ReadSinks.LOCAL;
    }

    Deadlines deadlines() {
        return deadlines;
    }

    @Override
    public int poll(int budget) {
        if (closed) {
            return 0;
        }
        postReceives();
        deadlines.expire();
        int delivered = runPending(budget);
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

    /** Connection events are rare and go first. Not those that come meanwhile. */
    private int runPending(int budget) {
        int count = Math.min(pending.size(), budget);
        for (int i = 0; i < count && !closed; i++) {
            try {
                pending.remove().run();
            } catch (RuntimeException e) {
                logger.warn("A handler of connection events failed", e);
            }
        }
        return count;
    }

    private void postReceives() {
        for (DisniQueuePair queuePair = withReceives.poll();
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
        notifications.arm();
        if (!completions.hasNext() && pending.isEmpty()) {
            alarm.sleep(limit);
        }
    }

    @Override
    public void wakeup() {
        alarm.ring();
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
        if (MemoryUtils.getAddress(bytes) != address) {
            throw new IllegalArgumentException(
                    String.format(
                            "Address %#x is not where the memory is; a device needs the native"
                                    + " address, so remove -Dio.netty.noUnsafe",
                            address));
        }
        return new DisniMemoryRegion(registrations, bytes, address);
    }

    @Override
    public QueuePair createQueuePair(QueuePairConfig size, QueuePairHandler handler)
            throws IOException {
        requireRoom(size);
        return track(new DisniQueuePair(this, size, ++lastSerial, handler, null));
    }

    @Override
    public QueuePair createQueuePair(
            ConnectionRequest request, QueuePairConfig size, QueuePairHandler handler)
            throws IOException {
        if (!(request instanceof DisniConnectionRequest mine)) {
            throw new IllegalArgumentException(
                    "Connection request is of another provider ("
                            + request
                            + "); use the context of its own provider");
        }
        RdmaCmId id = mine.take();
        try {
            if (!device.has(id)) {
                throw new IOException(
                        "The connection from "
                                + request.remoteAddress()
                                + " came to another RDMA device than that of "
                                + device.address
                                + "; listen at an address of that device, or name the other one"
                                + " with -Dorg.rpcrdma.disni.address");
            }
            requireRoom(size);
            DisniQueuePair queuePair = new DisniQueuePair(this, size, ++lastSerial, handler, id);
            queuePair.createNative();
            return track(queuePair);
        } catch (IOException | RuntimeException | Error e) {
            events.destroy(id);
            throw e;
        }
    }

    private DisniQueuePair track(DisniQueuePair queuePair) {
        queuePairs.put(queuePair.serial(), queuePair);
        completionsPromised += entries(queuePair.size());
        return queuePair;
    }

    /** A completion queue that overflows breaks all its connections: room is promised beforehand. */
    private void requireRoom(QueuePairConfig size) throws IOException {
        SizeCheck.check(size, MAX_READ_DEPTH);
        int wanted = entries(size);
        int promised = completionsPromised + completions.leftBehind();
        if (promised + wanted > completionsMax) {
            throw new IOException(
                    "The completion queue of this event loop has "
                            + completionsMax
                            + " entries, of which "
                            + promised
                            + " are promised and "
                            + wanted
                            + " wanted; raise -Dorg.rpcrdma.disni.completions, use more event loops"
                            + " or smaller SEND_DEPTH and RECEIVE_DEPTH");
        }
    }

    private static int entries(QueuePairConfig size) {
        return size.sendDepth() + size.receiveDepth();
    }

    /**
     * @param left how many work requests the device had, which may be in the queue as flushed
     */
    void remove(DisniQueuePair queuePair, int left) {
        if (queuePairs.remove(queuePair.serial()) != null) {
            completionsPromised -= entries(queuePair.size());
            completions.leave(left);
            withReceives.remove(queuePair);
        }
    }

    @Override
    public Listener listen(InetSocketAddress local, int backlog, ListenerHandler handler)
            throws IOException {
        DisniListener listener = new DisniListener(this, local, backlog, handler);
        listeners.add(listener);
        return listener;
    }

    void remove(DisniListener listener) {
        listeners.remove(listener);
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        List.copyOf(listeners).forEach(DisniListener::close);
        List.copyOf(queuePairs.values()).forEach(DisniQueuePair::close);
        registrations.close();
        for (Runnable left = pending.poll(); left != null; left = pending.poll()) {
            left.run(); // a request that came to a closed listener is rejected, all others hear
            // nothing
        }
        notifications.stop();
    }
}
