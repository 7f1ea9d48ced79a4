// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.iwarp.memory.IwarpExposure;
import org.rpcrdma.verbs.iwarp.mpa.FpduSender;
import org.rpcrdma.verbs.iwarp.mpa.MpaNegotiation;
import org.rpcrdma.verbs.iwarp.mpa.MpaStartupFrame;
import org.rpcrdma.verbs.iwarp.mpa.MpaStartupSettings;
import org.rpcrdma.verbs.iwarp.rdmap.InboundReads;
import org.rpcrdma.verbs.iwarp.rdmap.OutboundReads;
import org.rpcrdma.verbs.iwarp.rdmap.RdmapOpcodes;
import org.rpcrdma.verbs.iwarp.rdmap.RdmapReceiver;
import org.rpcrdma.verbs.iwarp.rdmap.RdmapSender;
import org.rpcrdma.verbs.iwarp.rdmap.ReceiveQueue;
import org.rpcrdma.verbs.iwarp.rdmap.SendQueue;
import org.rpcrdma.verbs.iwarp.shared.SharedRingFile;

/** The verbs face of a connection: its queues, its exposed memory, and how it begins and ends. */
final class IwarpQueuePair
        implements QueuePair, MpaInitiatorStartup.Owner, StreamQueuePair, AutoCloseable {

    static final int MAX_READ_DEPTH = 128;

    private enum State {
        IDLE,
        REQUESTED,
        CONNECTING,
        OPEN,
        ENDED,
        CLOSED
    }

    private final IwarpContextResources loop;
    private final QueuePairConfig size;
    private final QueuePairEvents events;
    private final IwarpConnectionRequest request;
    private final SendQueue work;
    private final ReceiveQueue receives;
    private final InboundReads inboundReads;
    private final OutboundReads outboundReads;
    private final QueuePairExposures exposures;
    private final QueuePairTcpSocket socket = new QueuePairTcpSocket();

    private State state;
    private long connectNanos;
    private MpaInitiatorStartup startup;
    private IwarpStream stream;

    private WorkStatus oldestWork = WorkStatus.FLUSHED;
    private WorkStatus startingWork = WorkStatus.FLUSHED;
    private WorkStatus oldestReceive = WorkStatus.FLUSHED;

    IwarpQueuePair(
            IwarpContextResources loop,
            QueuePairConfig size,
            QueuePairHandler handler,
            IwarpConnectionRequest request) {
        this.loop = loop;
        this.size = checked(size);
        this.events = new QueuePairEvents(loop.completions, handler, this::eventLost, this::flush);
        this.request = request;
        this.work = new SendQueue(size.sendDepth(), events);
        this.receives = new ReceiveQueue(size.receiveDepth());
        this.exposures = new QueuePairExposures(loop.stags, loop.memory, this::revoking);
        this.inboundReads = new InboundReads(loop.stags, exposures);
        this.outboundReads = new OutboundReads(work, loop.memory, loop.host.anyNumber());
        this.connectNanos = loop.config.initiatorTimeout().toNanos();
        this.state = request == null ? State.IDLE : State.REQUESTED;
        if (request != null) {
            socket.requested(request.localAddress(), request.remoteAddress());
        }
        events.open();
        try {
            loop.queuePairs.add(this);
        } catch (OutOfMemoryError e) {
            events.close();
            throw e;
        }
    }

    private static QueuePairConfig checked(QueuePairConfig size) {
        depth("sendDepth", size.sendDepth(), 1 << 20);
        depth("receiveDepth", size.receiveDepth(), 1 << 20);
        depth("inboundReads", size.inboundReads(), MAX_READ_DEPTH);
        depth("outboundReads", size.outboundReads(), MAX_READ_DEPTH);
        return size;
    }

    private static void depth(String name, int value, int maximum) {
        if (value < 0 || value > maximum) {
            throw new IllegalArgumentException(
                    "QueuePairConfig." + name + " is " + value + ", expected 0 to " + maximum);
        }
    }

    private void require(State expected, String call) {
        if (state != expected) {
            throw new IllegalStateException(call + " was called on a queue pair that is " + state);
        }
    }

    @Override
    public InetSocketAddress bind(InetSocketAddress address) throws IOException {
        require(State.IDLE, "bind");
        return socket.bind(address, loop.host, loop.config);
    }

    @Override
    public void connectTimeout(long millis) {
        connectNanos = TimeUnit.MILLISECONDS.toNanos(millis);
    }

    @Override
    public void connect(InetSocketAddress peer, InetSocketAddress from, byte[] privateData) {
        require(State.IDLE, "connect");
        startup = new MpaInitiatorStartup(loop, this, size, peer, privateData, connectNanos);
        state = State.CONNECTING;
        startup.start(socket.takeBound(peer, from), from);
    }

    @Override
    public void accept(byte[] privateData) {
        require(State.REQUESTED, "accept");
        MpaStartupFrame frame = request.frame();
        MpaStartupSettings options = loop.config.mpa();
        byte[] checked = options.checked(privateData, frame.enhanced());
        MpaNegotiation agreed =
                MpaNegotiation.respond(frame, options, size.inboundReads(), size.outboundReads());
        SocketChannel channel = request.channel();
        SharedMemoryNegotiation.Joined joined = null;
        try {
            int room = options.maxPrivateData(frame.enhanced()) - checked.length;
            joined = loop.sharedWire.join(request.offer(), socket.local(), socket.remote(), room);
            if (joined == null) {
                open(channel, loop.poller.keyOf(channel), null, agreed, false);
                stream.sendFrame(agreed.reply(frame, checked).encode());
            } else {
                open(channel, loop.poller.keyOf(channel), joined.rings(), agreed, false);
                Sockets.send(
                        channel, agreed.reply(frame, joined.answer().appendTo(checked)).encode());
            }
            events.connected(request.privateData());
        } catch (IOException | RuntimeException | Error e) {
            startFailed(channel, joined == null ? null : joined.rings(), e);
        }
    }

    private void startFailed(SocketChannel channel, SharedRingFile shared, Throwable cause) {
        if (stream != null) {
            stream.abort();
        }
        if (shared != null) {
            shared.close();
        }
        Sockets.close(channel);
        connectFailed(cause);
    }

    @Override
    public void established(
            SocketChannel channel,
            SelectionKey key,
            SharedRingFile shared,
            MpaNegotiation agreed,
            byte[] privateData) {
        try {
            socket.established(channel);
            open(channel, key, shared, agreed, true);
            events.connected(privateData);
        } catch (IOException | RuntimeException | Error e) {
            startFailed(channel, shared, e);
            return;
        }
        stream.sender().readyToReceive(agreed.rtr());
        stream.transmit();
    }

    private void open(
            SocketChannel channel,
            SelectionKey key,
            SharedRingFile shared,
            MpaNegotiation agreed,
            boolean initiator) {
        inboundReads.depth(agreed.ird());
        outboundReads.depth(agreed.ord());
        ByteTransport carrier = loop.byteTransport(channel, key, shared);
        MpaNegotiation rules = shared == null ? agreed : agreed.withoutTcp();
        try {
            stream = new IwarpStream(loop, this, carrier, rules, initiator);
        } catch (RuntimeException | Error e) {
            carrier.close();
            throw e;
        }
        startup = null;
        socket.connection(channel);
        state = State.OPEN;
    }

    @Override
    public RdmapReceiver newReceiver() {
        return new RdmapReceiver(
                exposures,
                loop.stags,
                loop.memory,
                receives,
                events,
                inboundReads,
                outboundReads,
                events);
    }

    @Override
    public RdmapSender newSender(FpduSender out, int mulpdu) {
        return new RdmapSender(work, outboundReads, inboundReads, loop.memory, out, mulpdu);
    }

    @Override
    public void connectFailed(Throwable cause) {
        state = State.ENDED;
        events.connectFailed(cause);
    }

    @Override
    public InetSocketAddress localAddress() {
        return socket.local();
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return socket.remote();
    }

    @Override
    public void postReceive(long id, long address, int length, int localKey) {
        receives.post(id, address, length, localKey);
        if (state == State.ENDED) {
            receives.flush(events, WorkStatus.FLUSHED);
        }
    }

    @Override
    public void postReceive(long id, int length) {
        postReceives(1, id, length);
    }

    @Override
    public void postReceives(int count, long id, int length) {
        receives.post(id, length, count);
        if (state == State.ENDED) {
            receives.flush(events, WorkStatus.FLUSHED);
        }
    }

    @Override
    public void send(long id, int flags) {
        work.open(id, RdmapOpcodes.SEND, flags, 0, 0);
    }

    @Override
    public void sendWithInvalidate(long id, int flags, int remoteKey) {
        work.open(id, RdmapOpcodes.SEND_INVALIDATE, flags, 0, remoteKey);
    }

    @Override
    public void write(long id, int flags, long remoteAddress, int remoteKey) {
        work.open(id, RdmapOpcodes.WRITE, flags, remoteAddress, remoteKey);
    }

    @Override
    public void read(long id, int flags, long remoteAddress, int remoteKey) {
        if (state == State.OPEN && outboundReads.depth() == 0) {
            throw new IllegalStateException(
                    "The peer "
                            + socket.remote()
                            + " admits no RDMA Reads; see outboundReads() and QueuePairConfig");
        }
        work.open(id, RdmapOpcodes.READ_REQUEST, flags, remoteAddress, remoteKey);
    }

    @Override
    public void gather(long address, int length, int localKey) {
        work.gather(address, length, localKey);
    }

    @Override
    public void doorbell() {
        work.post();
        if (state == State.OPEN) {
            stream.doorbell();
        } else if (state == State.ENDED) {
            work.flush(WorkStatus.FLUSHED, WorkStatus.FLUSHED);
        }
    }

    @Override
    public int expose(MemoryRegion region, long address, int length, int access) {
        return exposures.expose(region, address, length, access);
    }

    @Override
    public int expose(int length) {
        return exposures.expose(length);
    }

    @Override
    public long exposedOffset(int key) {
        return exposures.offset(key);
    }

    @Override
    public boolean isExposed(int key) {
        return exposures.contains(key);
    }

    @Override
    public void invalidate(int key) {
        exposures.invalidate(key);
    }

    private void revoking(IwarpExposure exposure) {
        if (state == State.OPEN) {
            stream.revoking(exposure);
        }
    }

    @Override
    public int outboundReads() {
        return outboundReads.depth();
    }

    @Override
    public void keepAlive(int idleSeconds) {
        if (!TcpKeepAliveOptions.isAvailable()) {
            QueuePair.super.keepAlive(idleSeconds);
        }
        if (state == State.OPEN) {
            socket.keepAlive(idleSeconds);
        }
    }

    /** The start-up frames are sent before, without it. */
    @Override
    public void trafficClass(int octet) {
        socket.trafficClass(octet);
    }

    QueuePairExposures exposures() {
        return exposures;
    }

    /** The TCP connection, once there is one. */
    SocketChannel connection() {
        return socket.connection();
    }

    @Override
    public long readBytes() {
        return outboundReads.bytes();
    }

    @Override
    public void disconnect() {
        if (state == State.OPEN) {
            stream.disconnect();
        } else if (state == State.CONNECTING) {
            startup.close();
            connectFailed(
                    new IOException(
                            "The connection to "
                                    + socket.remote()
                                    + " was given up before it was made"));
        }
    }

    @Override
    public void close() {
        if (state == State.CLOSED) {
            return;
        }
        try {
            if (state == State.OPEN) {
                stream.close();
            } else if (state == State.CONNECTING) {
                startup.close();
            } else if (state == State.REQUESTED) {
                Sockets.close(request.channel());
            }
        } finally {
            // Whatever becomes of the connection, its peer loses its access to memory.
            state = State.CLOSED;
            events.close();
            socket.closeBound();
            exposures.close();
            loop.queuePairs.remove(this);
        }
    }

    @Override
    public void culprit(WorkStatus status) {
        startingWork = status;
    }

    @Override
    public void oldestCulprit(WorkStatus status, int opcode) {
        if (opcode < 0 || work.oldestIs(opcode)) {
            oldestWork = status;
        }
    }

    @Override
    public void receiveCulprit(WorkStatus status) {
        oldestReceive = status;
    }

    @Override
    public void ended(Throwable cause) {
        if (state != State.CLOSED && state != State.ENDED) {
            state = State.ENDED;
            events.disconnected(cause);
        }
    }

    private void flush() {
        work.flush(oldestWork, startingWork);
        receives.flush(events, oldestReceive);
    }

    /** The connection ends with an event that it has lost. */
    private void eventLost(Error e) {
        if (state == State.OPEN) {
            stream.failed(Sockets.ended(e));
        }
    }
}
