// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.ReceiveMemory;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.iwarp.memory.Exposure;
import org.rpcrdma.verbs.iwarp.memory.ExposureOwner;
import org.rpcrdma.verbs.iwarp.memory.IwarpMemoryRegion;
import org.rpcrdma.verbs.iwarp.mpa.FpduSender;
import org.rpcrdma.verbs.iwarp.mpa.MpaFrame;
import org.rpcrdma.verbs.iwarp.mpa.MpaNegotiation;
import org.rpcrdma.verbs.iwarp.mpa.MpaOptions;
import org.rpcrdma.verbs.iwarp.rdmap.Completions;
import org.rpcrdma.verbs.iwarp.rdmap.InboundReads;
import org.rpcrdma.verbs.iwarp.rdmap.OutboundReads;
import org.rpcrdma.verbs.iwarp.rdmap.Rdmap;
import org.rpcrdma.verbs.iwarp.rdmap.RdmapReceiver;
import org.rpcrdma.verbs.iwarp.rdmap.RdmapSender;
import org.rpcrdma.verbs.iwarp.rdmap.ReceiveQueue;
import org.rpcrdma.verbs.iwarp.rdmap.ReceiveSource;
import org.rpcrdma.verbs.iwarp.rdmap.SendQueue;
import org.rpcrdma.verbs.iwarp.rdmap.WorkSource;
import org.rpcrdma.verbs.iwarp.shared.SharedSegment;

/** The verbs face of a connection: its queues, its exposed memory, and how it begins and ends. */
final class IwarpQueuePair extends ExposureOwner
        implements QueuePair, CompletionEventTarget, Completions, ReceiveSource {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(IwarpQueuePair.class);

    private enum State {
        IDLE,
        REQUESTED,
        CONNECTING,
        OPEN,
        ENDED,
        CLOSED
    }

    private final IwarpContext context;
    private final QueuePairConfig size;
    private final QueuePairHandler handler;
    private final IwarpConnectionRequest request;
    private final SendQueue work;
    private final ReceiveQueue receives;
    private final InboundReads inboundReads;
    private final OutboundReads outboundReads;

    private State state;
    private SocketChannel bound;
    private long connectNanos;
    private ActiveStartup startup;
    private IwarpStream stream;

    /** Of the stream, whatever carries it. */
    private SocketChannel connection;

    private InetSocketAddress local;
    private InetSocketAddress remote;
    private int undelivered;

    /** Whether the end of the connection, or of the attempt to make one, waits to be told or was told. */
    private boolean isEndQueued;

    private WorkStatus oldestWork = WorkStatus.FLUSHED;
    private WorkStatus startingWork = WorkStatus.FLUSHED;
    private WorkStatus oldestReceive = WorkStatus.FLUSHED;

    IwarpQueuePair(
            IwarpContext context,
            QueuePairConfig size,
            QueuePairHandler handler,
            IwarpConnectionRequest request) {
        this.context = context;
        this.size = checked(size);
        this.handler = Objects.requireNonNull(handler, "handler");
        this.request = request;
        this.work = new SendQueue(size.sendDepth(), this);
        this.receives = new ReceiveQueue(size.receiveDepth());
        this.inboundReads = new InboundReads(context.stags, this);
        this.outboundReads =
                new OutboundReads(work, context.memory, ThreadLocalRandom.current().nextInt());
        this.connectNanos = context.config.initiatorTimeout().toNanos();
        this.state = request == null ? State.IDLE : State.REQUESTED;
        if (request != null) {
            local = request.localAddress();
            remote = request.remoteAddress();
        }
    }

    private static QueuePairConfig checked(QueuePairConfig size) {
        depth("sendDepth", size.sendDepth(), 1 << 20);
        depth("receiveDepth", size.receiveDepth(), 1 << 20);
        depth("inboundReads", size.inboundReads(), IwarpContext.MAX_READ_DEPTH);
        depth("outboundReads", size.outboundReads(), IwarpContext.MAX_READ_DEPTH);
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
        SocketChannel socket = context.host.sockets().openSocketChannel();
        try {
            Sockets.configure(socket, context.config);
            socket.bind(address);
            local = (InetSocketAddress) socket.getLocalAddress();
        } catch (IOException | RuntimeException e) {
            Sockets.close(socket);
            throw e;
        }
        closeBound();
        bound = socket;
        return local;
    }

    private void closeBound() {
        if (bound != null) {
            Sockets.close(bound);
            bound = null;
        }
    }

    @Override
    public void connectTimeout(long millis) {
        connectNanos = TimeUnit.MILLISECONDS.toNanos(millis);
    }

    @Override
    public void connect(InetSocketAddress peer, InetSocketAddress from, byte[] privateData) {
        require(State.IDLE, "connect");
        startup = new ActiveStartup(context, this, size, peer, privateData, connectNanos);
        state = State.CONNECTING;
        remote = peer;
        if (bound != null && from != null && !from.equals(local)) {
            closeBound();
        }
        SocketChannel socket = bound;
        bound = null;
        startup.start(socket, from);
    }

    @Override
    public void accept(byte[] privateData) {
        require(State.REQUESTED, "accept");
        MpaFrame frame = request.frame();
        MpaOptions options = context.config.mpa();
        byte[] checked = options.checked(privateData, frame.enhanced());
        MpaNegotiation agreed =
                MpaNegotiation.respond(frame, options, size.inboundReads(), size.outboundReads());
        SocketChannel channel = request.channel();
        SharedMemoryNegotiation.Joined joined = null;
        try {
            int room = options.maxPrivateData(frame.enhanced()) - checked.length;
            joined = context.sharedWire.join(request.offer(), local, remote, room);
            if (joined == null) {
                open(channel, context.keyOf(channel), null, agreed, false);
                stream.sendFrame(agreed.reply(frame, checked).encode());
            } else {
                open(channel, context.keyOf(channel), joined.segment(), agreed, false);
                Sockets.send(
                        channel, agreed.reply(frame, joined.answer().appendTo(checked)).encode());
            }
            context.completions.add(this, Kind.CONNECTED, request.privateData());
        } catch (IOException | RuntimeException | OutOfMemoryError e) {
            startFailed(channel, joined == null ? null : joined.segment(), e);
        }
    }

    private void startFailed(SocketChannel channel, SharedSegment shared, Throwable cause) {
        if (stream != null) {
            stream.abort();
        }
        if (shared != null) {
            shared.close();
        }
        Sockets.close(channel);
        connectFailed(cause);
    }

    /** The initiator's start-up is complete. */
    void established(
            SocketChannel channel,
            SelectionKey key,
            SharedSegment shared,
            MpaNegotiation agreed,
            byte[] privateData) {
        try {
            local = (InetSocketAddress) channel.getLocalAddress();
            remote = (InetSocketAddress) channel.getRemoteAddress();
            open(channel, key, shared, agreed, true);
            context.completions.add(this, Kind.CONNECTED, privateData);
        } catch (IOException | RuntimeException | OutOfMemoryError e) {
            startFailed(channel, shared, e);
            return;
        }
        stream.sender().readyToReceive(agreed.rtr());
        stream.transmit();
    }

    private void open(
            SocketChannel channel,
            SelectionKey key,
            SharedSegment shared,
            MpaNegotiation agreed,
            boolean initiator) {
        inboundReads.depth(agreed.ird());
        outboundReads.depth(agreed.ord());
        ByteTransport carrier = context.carrier(channel, key, shared);
        MpaNegotiation rules = shared == null ? agreed : agreed.withoutTcp();
        try {
            stream = new IwarpStream(context, this, carrier, rules, initiator);
        } catch (RuntimeException | OutOfMemoryError e) {
            carrier.close();
            throw e;
        }
        startup = null;
        connection = channel;
        state = State.OPEN;
    }

    RdmapReceiver newReceiver() {
        return new RdmapReceiver(
                this,
                context.stags,
                context.memory,
                receives,
                this,
                inboundReads,
                outboundReads,
                this);
    }

    RdmapSender newSender(FpduSender out, int mulpdu) {
        return new RdmapSender(
                work,
                outboundReads,
                inboundReads,
                new WorkSource(work, context.memory),
                out,
                mulpdu);
    }

    void connectFailed(Throwable cause) {
        state = State.ENDED;
        isEndQueued = true;
        context.completions.add(this, Kind.CONNECT_FAILED, cause);
    }

    @Override
    public InetSocketAddress localAddress() {
        return local;
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return remote;
    }

    @Override
    public void postReceive(long id, long address, int length, int localKey) {
        receives.post(id, address, length, localKey);
        if (state == State.ENDED) {
            receives.flush(this, WorkStatus.FLUSHED);
        }
    }

    @Override
    public void postReceive(long id, int length) {
        receives.post(id, length);
        if (state == State.ENDED) {
            receives.flush(this, WorkStatus.FLUSHED);
        }
    }

    @Override
    public void send(long id, int flags) {
        work.open(id, Rdmap.SEND, flags, 0, 0);
    }

    @Override
    public void sendWithInvalidate(long id, int flags, int remoteKey) {
        work.open(id, Rdmap.SEND_INVALIDATE, flags, 0, remoteKey);
    }

    @Override
    public void write(long id, int flags, long remoteAddress, int remoteKey) {
        work.open(id, Rdmap.WRITE, flags, remoteAddress, remoteKey);
    }

    @Override
    public void read(long id, int flags, long remoteAddress, int remoteKey) {
        if (state == State.OPEN && outboundReads.depth() == 0) {
            throw new IllegalStateException(
                    "The peer "
                            + remote
                            + " admits no RDMA Reads; see outboundReads() and QueuePairConfig");
        }
        work.open(id, Rdmap.READ_REQUEST, flags, remoteAddress, remoteKey);
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
        if (!(region instanceof IwarpMemoryRegion mine) || !mine.isOf(context.memory)) {
            throw new IllegalArgumentException(
                    "The region is not registered with the context of this queue pair");
        }
        if (state == State.CLOSED) {
            throw new IllegalStateException("expose was called on a queue pair that is CLOSED");
        }
        // An exact key costs nothing here, so there is no reason to share one.
        return context.stags.expose(this, mine, address, length, access & ~SHARED).stag();
    }

    @Override
    public int expose(int length) {
        if (state == State.CLOSED) {
            throw new IllegalStateException("expose was called on a queue pair that is CLOSED");
        }
        return context.stags.expose(this, length).stag();
    }

    @Override
    public long exposedOffset(int key) {
        Exposure exposure = exposed(key);
        if (exposure == null) {
            throw new IllegalArgumentException(
                    String.format(
                            "Key 0x%08x is not valid: it was not exposed here or was invalidated",
                            key));
        }
        return exposure.offset();
    }

    @Override
    public boolean isExposed(int key) {
        return exposed(key) != null;
    }

    @Override
    public void invalidate(int key) {
        Exposure exposure = exposed(key);
        if (exposure != null) {
            context.stags.invalidate(exposure);
        }
    }

    private Exposure exposed(int key) {
        Exposure exposure = context.stags.find(key);
        return exposure != null && exposure.owner() == this ? exposure : null;
    }

    @Override
    protected void revoking(Exposure exposure) {
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
        if (!KeepAlive.isAvailable()) {
            QueuePair.super.keepAlive(idleSeconds);
        }
        if (state != State.OPEN) {
            return;
        }
        try {
            KeepAlive.start(connection, idleSeconds);
        } catch (IOException | RuntimeException e) {
            // The connection does without.
            LOGGER.debug("Keep-alive of {} failed", connection, e);
        }
    }

    /** The TCP connection, once there is one. */
    SocketChannel connection() {
        return connection;
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
                            "The connection to " + remote + " was given up before it was made"));
        }
    }

    @Override
    public void close() {
        if (state == State.CLOSED) {
            return;
        }
        State before = state;
        if (before == State.OPEN) {
            stream.close();
        } else if (before == State.CONNECTING) {
            startup.close();
        } else if (before == State.REQUESTED) {
            Sockets.close(request.channel());
        }
        closeBound();
        state = State.CLOSED;
        context.stags.invalidateAll(this);
        context.remove(this);
    }

    /** Sets how the work request that was about to start completes when the stream ends. */
    void culprit(WorkStatus status) {
        startingWork = status;
    }

    /**
     * Sets how the oldest work request completes when the stream ends, unless what has failed is of another kind: a
     * Write is complete once it is on its way, and what is the oldest then is innocent.
     *
     * @param opcode what has failed, -1 when the peer does not tell
     */
    void oldestCulprit(WorkStatus status, int opcode) {
        if (opcode < 0 || work.oldestIs(opcode)) {
            oldestWork = status;
        }
    }

    /** Sets how the oldest receive completes when the stream ends. */
    void receiveCulprit(WorkStatus status) {
        oldestReceive = status;
    }

    /** The stream has ended: completes everything, then reports the end, once. */
    void ended(Throwable cause) {
        if (state == State.CLOSED || isEndQueued) {
            return;
        }
        state = State.ENDED;
        work.flush(oldestWork, startingWork);
        receives.flush(this, oldestReceive);
        context.completions.add(this, Kind.DISCONNECTED, cause);
        isEndQueued = true;
    }

    @Override
    public void complete(long id, WorkStatus status, int length, int invalidatedKey) {
        undelivered++;
        context.completions.add(this, Kind.COMPLETED, status, id, length, invalidatedKey);
    }

    @Override
    public ReceiveMemory memory(long id, int length) {
        return handler.receiveMemory(id, length);
    }

    @Override
    public ReceiveMemory writeMemory(int key, int start, int length) {
        return handler.writeMemory(key, start, length);
    }

    @Override
    public boolean receivesFollow() {
        return undelivered > 0 || handler.receivesFollow();
    }

    @Override
    public void deliver(Kind kind, Object argument, long id, int length, int key) {
        if (kind == Kind.COMPLETED) {
            undelivered--;
        }
        if (state == State.CLOSED) {
            return;
        }
        try {
            switch (kind) {
                case COMPLETED -> handler.completed(id, (WorkStatus) argument, length, key);
                case CONNECTED -> handler.connected((byte[]) argument);
                case CONNECT_FAILED -> handler.connectFailed((Throwable) argument);
                case DISCONNECTED -> disconnected((Throwable) argument);
                default -> throw new IllegalStateException(kind.toString());
            }
        } catch (RuntimeException e) {
            LOGGER.warn("A queue pair handler failed", e);
        } catch (OutOfMemoryError e) {
            // What it was told is lost, so the connection is.
            if (state == State.OPEN) {
                stream.failed(IwarpContext.noMemory(e));
            }
        }
    }

    private void disconnected(Throwable cause) {
        if (undelivered > 0) {
            // A handler has posted work meanwhile; its completions go first.
            context.completions.add(this, Kind.DISCONNECTED, cause);
        } else {
            handler.disconnected(cause);
        }
    }
}
