// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.collection.IntObjectMap;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.rpcrdma.verbs.CompletionError;
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

/**
 * Device context of one event loop: memory, queue pairs, listeners, and the order of their work.
 */
public final class HardwareEventLoopContext implements EventLoopVerbsContext {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(HardwareEventLoopContext.class);

    private final NativeEventLoopDevice device;
    private final ProviderSettings config;
    private final HardwareContextResources loop;

    private final CompletionQueue completions;
    private int completionsPromised;
    private final IntObjectMap<HardwareQueuePair> queuePairs = new IntObjectHashMap<>();
    private final Set<HardwareListener> listeners = new LinkedHashSet<>();

    private int lastSerial;
    private boolean pollFails;
    private boolean closed;

    /**
     * @param device belongs to this context, which closes it
     */
    public HardwareEventLoopContext(NativeEventLoopDevice device, ProviderSettings config) {
        this.device = device;
        this.config = config;
        loop = new HardwareContextResources(device, config);
        completions = new CompletionQueue(device, queuePairs);
    }

    @Override
    public DeviceCapabilities capabilities() {
        return device.capabilities();
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
        loop.postReceives();
        loop.deadlines().expire();
        int delivered = loop.runPending(budget);
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

    @Override
    public void await(long nanos) throws IOException {
        loop.postReceives();
        if (nanos == 0 || loop.hasPending()) {
            return;
        }
        long limit = nanos < 0 ? Long.MAX_VALUE : nanos;
        limit = Math.min(limit, loop.deadlines().nanosLeft());
        if (limit <= 0) {
            return;
        }
        device.arm();
        if (!completions.tryFetch() && !loop.hasPending()) {
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
        return new RegisteredMemoryRegion(loop.registrations(), bytes, address);
    }

    @Override
    public QueuePair createQueuePair(QueuePairConfig size, QueuePairHandler handler)
            throws IOException {
        requireRoom(size);
        return track(
                new HardwareQueuePair(
                        loop, completions, this::closed, size, ++lastSerial, handler, null));
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
        NativeCmId id = mine.id();
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
                    new HardwareQueuePair(
                            loop, completions, this::closed, size, ++lastSerial, handler, mine);
            HardwareConnectionStateMachine connection = queuePair.connection();
            mine.handTo(device, connection, connection::happenedElsewhere);
            queuePair.createNative();
            return track(queuePair);
        } catch (IOException | RuntimeException | Error e) {
            id.destroy();
            throw e;
        }
    }

    private HardwareQueuePair track(HardwareQueuePair queuePair) {
        queuePairs.put(queuePair.serial(), queuePair);
        completionsPromised += loop.completions(queuePair.size());
        return queuePair;
    }

    /** A completion queue that overflows breaks all its connections: room is promised beforehand. */
    private void requireRoom(QueuePairConfig size) throws IOException {
        QueuePairConfigCheck.check(size, capabilities().maxReadDepth());
        int wanted = loop.completions(size);
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

    private void closed(HardwareQueuePair queuePair, int left) {
        if (queuePairs.remove(queuePair.serial()) != null) {
            completionsPromised -= loop.completions(queuePair.size());
            completions.leave(left);
        }
    }

    @Override
    public Listener listen(InetSocketAddress local, int backlog, ListenerHandler handler)
            throws IOException {
        HardwareListener listener =
                new HardwareListener(device, listeners::remove, local, backlog, handler);
        listeners.add(listener);
        return listener;
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
        loop.close();
    }
}
