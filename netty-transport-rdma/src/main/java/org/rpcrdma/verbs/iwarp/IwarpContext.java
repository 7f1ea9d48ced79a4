// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.DeviceCounter;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.Listener;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.iwarp.rdmap.SendQueue;

/** One event loop's share of the software RNIC: polls its connections, and makes queue pairs and listeners. */
public final class IwarpContext implements EventLoopVerbsContext {

    /** How often memory for a waiting message is asked for, unless there is other work. */
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    /** So often in a row a poll that had something to deliver does not poll the connections. */
    private static final int MOST_UNPOLLED = 2;

    final IwarpContextResources loop;
    private final DeviceCapabilities capabilities;
    private int unpolled;
    private boolean closed;

    IwarpContext(IwarpConfig config) throws IOException {
        this(config, DirectMemoryBudget.jvm());
    }

    /** @param budget of all memory that streams are sent from and received into */
    IwarpContext(IwarpConfig config, DirectMemoryBudget budget) throws IOException {
        this(config, IwarpHost.SYSTEM, budget, new SharedMemoryNegotiation(config));
    }

    IwarpContext(IwarpConfig config, SharedMemoryNegotiation sharedWire) throws IOException {
        this(config, IwarpHost.SYSTEM, DirectMemoryBudget.jvm(), sharedWire);
    }

    /** A context on another host. */
    IwarpContext(IwarpConfig config, IwarpHost host, DirectMemoryBudget budget) throws IOException {
        this(config, host, budget, new SharedMemoryNegotiation(config));
    }

    private IwarpContext(
            IwarpConfig config,
            IwarpHost host,
            DirectMemoryBudget budget,
            SharedMemoryNegotiation sharedWire)
            throws IOException {
        this.capabilities = capabilities(config);
        this.loop = new IwarpContextResources(config, host, budget, sharedWire);
    }

    private static DeviceCapabilities capabilities(IwarpConfig config) {
        return DeviceCapabilities.builder()
                .maxScatterGather(SendQueue.MAX_RANGES)
                .maxReadRanges(SendQueue.MAX_RANGES)
                .maxReadDepth(IwarpQueuePair.MAX_READ_DEPTH)
                .maxPrivateData(config.mpa().maxPrivateData(config.mpaRevision() >= 2))
                .privateDataOnAccept(true)
                .exactExposure(true)
                .cheapRegistration(true)
                .sendWithInvalidate(true)
                .remoteInvalidation(true)
                .rejectWithData(true)
                .disconnectCause(true)
                .keyPerConnection(true)
                .ipv6(true)
                .receivesWithoutMemory(true)
                .exposesWithoutMemory(true)
                .keepAlive(TcpKeepAliveOptions.isAvailable())
                .build();
    }

    @Override
    public DeviceCapabilities capabilities() {
        return capabilities;
    }

    @Override
    public String toString() {
        return "the software RNIC: iWARP over TCP, at all addresses of this machine";
    }

    /** {@return what this context has counted} */
    public IwarpCounters counters() {
        return loop.counters;
    }

    @Override
    public long value(DeviceCounter counter) {
        return loop.counters.value(counter);
    }

    @Override
    public long nanoTime() {
        return loop.host.nanoTime();
    }

    @Override
    public int poll(int budget) {
        int delivered = loop.completions.deliver(budget);
        if (!loop.pausedListeners.paused.isEmpty()) {
            loop.pausedListeners.resume();
        }
        if (closed) {
            return delivered;
        }
        if (delivered > 0 && unpolled < MOST_UNPOLLED && !hasReadyConnections()) {
            // The poll has just found no more events, by a system call.
            unpolled++;
            return delivered;
        }
        unpolled = 0;
        SocketPoller poller = loop.poller;
        long movedBefore = poller.moved;
        if (!loop.timers.isEmpty()) {
            loop.timers.expire();
        }
        if (loop.streams.hasBroken() || loop.streams.hasHeld()) {
            loop.streams.run();
        }
        poller.poll(movedBefore);
        delivered += loop.completions.deliver(budget - delivered);
        return (int) Math.min(delivered + poller.moved - movedBefore, Integer.MAX_VALUE);
    }

    @Override
    public int deliverQueued() {
        return loop.completions.deliver(loop.completions.size());
    }

    @Override
    public boolean hasReadyConnections() {
        return !closed && loop.poller.hasSelected();
    }

    @Override
    public void await(long nanos) throws IOException {
        if (nanos == 0
                || loop.completions.size() > 0
                || loop.streams.hasBroken()
                || hasReadyConnections()) {
            return;
        }
        if (!loop.pausedListeners.paused.isEmpty()) {
            loop.pausedListeners.resume();
        }
        long limit = nanos < 0 ? Long.MAX_VALUE : nanos;
        if (!loop.timers.isEmpty()) {
            limit = Math.min(limit, loop.timers.nanosLeft());
        }
        if (loop.streams.hasHeld()) {
            limit = Math.min(limit, RETRY_NANOS);
        }
        if (limit > 0) {
            loop.poller.await(limit);
        }
    }

    @Override
    public void wakeup() {
        loop.poller.wakeup();
    }

    @Override
    public MemoryRegion register(ByteBuffer bytes, long address) {
        return loop.memory.register(bytes, address);
    }

    @Override
    public QueuePair createQueuePair(QueuePairConfig size, QueuePairHandler handler)
            throws IOException {
        return new IwarpQueuePair(loop, size, handler, null);
    }

    @Override
    public QueuePair createQueuePair(
            ConnectionRequest request, QueuePairConfig size, QueuePairHandler handler)
            throws IOException {
        if (!(request instanceof IwarpConnectionRequest mine)) {
            throw new IllegalArgumentException(
                    "Connection request is of another provider ("
                            + request
                            + "); use the context of its own provider");
        }
        mine.take(loop.poller);
        try {
            return new IwarpQueuePair(loop, size, handler, mine);
        } catch (RuntimeException | Error e) {
            Sockets.close(mine.channel());
            throw e;
        }
    }

    @Override
    public Listener listen(InetSocketAddress local, int backlog, ListenerHandler handler)
            throws IOException {
        return new IwarpListener(loop, local, backlog, handler);
    }

    @Override
    public boolean isLingering() {
        return !loop.lingering.isEmpty();
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            loop.close();
        }
    }
}
