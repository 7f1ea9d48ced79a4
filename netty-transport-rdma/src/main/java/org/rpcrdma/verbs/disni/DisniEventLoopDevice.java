// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.util.MemoryUtils;
import com.ibm.disni.verbs.IbvCQ;
import com.ibm.disni.verbs.IbvCompChannel;
import com.ibm.disni.verbs.IbvPd;
import com.ibm.disni.verbs.RdmaCmId;
import com.ibm.disni.verbs.RdmaProvider;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.hardware.ConnectionErrorGuard;
import org.rpcrdma.verbs.hardware.NativeCmId;
import org.rpcrdma.verbs.hardware.NativeEventLoopDevice;
import org.rpcrdma.verbs.hardware.NativeMemory;
import org.rpcrdma.verbs.hardware.NativeRegion;

/**
 * Device resources of one event loop through DiSNI, with threads for its blocking waits.
 */
final class DisniEventLoopDevice implements NativeEventLoopDevice {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(DisniEventLoopDevice.class);

    /** DiSNI asks for the device's limit in both directions and does not tell it. */
    private static final int MAX_READ_DEPTH = 128;

    /** Sizes that {@code libdisni} gives every queue pair. */
    private static final int MAX_RANGES = 4;

    private final DeviceCapabilities capabilities;
    private final CmEventChannelThread events;
    private final DisniDataPath path;
    private final DisniLocalDevice device;
    private final IbvPd domain;
    private final IbvCQ queue;
    private final int completions;
    private final CompletionChannelThread notifications;
    private final ThreadParker parker = new ThreadParker();

    /** Events that have come. */
    private final Queue<Runnable> happened = new ConcurrentLinkedQueue<>();

    private volatile boolean closed;

    DisniEventLoopDevice(DisniConfig config) throws IOException {
        List<AutoCloseable> undo = new ArrayList<>();
        try {
            path = DisniPrivateFields.dataPath(RdmaProvider.provider());
            events = CmEventChannelThread.acquire();
            undo.add(CmEventChannelThread::release);
            device = DisniLocalDevice.find(events, config.address());
            undo.add(device);
            capabilities =
                    DeviceCapabilities.builder()
                            .maxScatterGather(MAX_RANGES)
                            // DiSNI does not tell max_sge_rd. Devices for iWARP have 1, and
                            // soft-iWARP drops all other ranges without a word.
                            .maxReadRanges(device.mayBeIwarp ? 1 : MAX_RANGES)
                            .maxReadDepth(MAX_READ_DEPTH)
                            .exactExposure(true)
                            .cheapRegistration(config.registrationCache() > 0)
                            .sendWithInvalidate(true)
                            .build();
            domain = device.verbs.allocPd();
            undo.add(domain::deallocPd);
            IbvCompChannel channel = device.verbs.createCompChannel();
            undo.add(channel::destroyCompChannel);
            SizedCompletionQueue sized =
                    SizedCompletionQueue.create(device.verbs, channel, config.completions());
            queue = sized.queue();
            completions = sized.entries();
            undo.add(queue::destroyCQ);
            notifications =
                    new CompletionChannelThread(channel, queue, parker, this::queueDestroyed);
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
        CmEventChannelThread.release();
    }

    CmEventChannelThread events() {
        return events;
    }

    DisniDataPath path() {
        return path;
    }

    IbvPd domain() {
        return domain;
    }

    IbvCQ queue() {
        return queue;
    }

    boolean has(RdmaCmId id) throws IOException {
        return device.has(id);
    }

    @Override
    public DeviceCapabilities capabilities() {
        return capabilities;
    }

    @Override
    public int completions() {
        return completions;
    }

    @Override
    public boolean needsRemoteSinks() {
        return device.mayBeIwarp;
    }

    @Override
    public String toString() {
        return "the RDMA device of " + device.address;
    }

    @Override
    public long address(ByteBuffer memory) {
        return MemoryUtils.getAddress(memory);
    }

    @Override
    public NativeRegion register(ByteBuffer memory, int access) throws IOException {
        return DisniRegion.make(domain.regMr(memory, access));
    }

    @Override
    public NativeRegion register(long address, int length, int access) throws IOException {
        return DisniRegion.make(domain.regMr(address, length, access));
    }

    @Override
    public NativeCmId newId() throws IOException {
        return new DisniCmId(this, events.newId());
    }

    @Override
    public InetSocketAddress connectFrom(InetSocketAddress local, InetSocketAddress peer)
            throws SocketException {
        Ipv4SocketAddresses.checked(peer);
        return Ipv4SocketAddresses.toBind(local, device.address);
    }

    @Override
    public InetSocketAddress listenAt(InetSocketAddress local) throws SocketException {
        return Ipv4SocketAddresses.toListen(local);
    }

    @Override
    public int poll(NativeMemory to, int index, int most) throws IOException {
        return path.poll(queue, to, index, most);
    }

    /** Has something told by the thread of the loop. Callable from any thread. */
    void deliver(Runnable event) {
        happened.add(event);
        parker.unpark();
        if (closed) {
            deliverEvents(Integer.MAX_VALUE); // nobody else does any more
        }
    }

    @Override
    public int deliverEvents(int most) {
        int delivered = 0;
        while (delivered < most) {
            Runnable event = happened.poll();
            if (event == null) {
                break;
            }
            delivered++;
            ConnectionErrorGuard.run(event, "A handler of connection events failed");
        }
        return delivered;
    }

    @Override
    public void arm() throws IOException {
        notifications.arm();
    }

    @Override
    public void sleep(long nanos) {
        parker.park(nanos);
    }

    @Override
    public void wakeup() {
        parker.unpark();
    }

    @Override
    public void close() {
        closed = true;
        deliverEvents(Integer.MAX_VALUE);
        notifications.stop();
    }
}
