// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static io.netty.util.internal.ObjectUtil.checkPositive;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import io.netty.channel.Channel;
import io.netty.channel.ChannelMetadata;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.channel.ConnectTimeoutException;
import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.collection.IntObjectMap;
import io.netty.util.concurrent.Future;
import io.netty.util.internal.StringUtil;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ConnectionPendingException;
import java.nio.channels.UnresolvedAddressException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.WorkStatus;

/**
 * A connection over RDMA.
 *
 * <p>Message boundaries are kept: an inbound {@link ByteBuf} is one received Send, delivered in the registered receive
 * buffer itself; an outbound {@link ByteBuf} is one Send. {@link RdmaSend}, {@link RdmaWrite} and {@link RdmaRead} are
 * written like any message, are posted in order with the Sends and complete by their promise. {@code flush()} is the
 * doorbell.
 *
 * <p>The promise of a write succeeds when the device is done with the memory, so that the water marks bound what is in
 * flight, and closing in the listener of a write loses nothing. A closing channel lets posted work finish first, for
 * at most {@link RdmaChannelOption#DRAIN_MILLIS}.
 *
 * <p>There is no half-close: {@code shutdownOutput} does not exist here.
 */
public final class RdmaChannel extends AbstractRdmaChannel {

    private static final ChannelMetadata METADATA = new ChannelMetadata(false, 16);

    private static final String EXPECTED =
            " (expected: "
                    + StringUtil.simpleClassName(ByteBuf.class)
                    + ", "
                    + StringUtil.simpleClassName(RdmaSend.class)
                    + ", "
                    + StringUtil.simpleClassName(RdmaWrite.class)
                    + ", "
                    + StringUtil.simpleClassName(RdmaRead.class)
                    + ')';

    /** Marks the work request ids of the send queue; receives have the others. */
    private static final long SEND = 1L << 62;

    /** From here on registering foreign memory for one work request costs less than copying it, if it is cheap. */
    private static final int COPY_LIMIT = 16 << 10;

    private enum State {
        OPEN,
        CONNECTING,
        ACTIVE,
        CLOSED
    }

    private final RdmaChannelConfig config = new RdmaChannelConfig(this);
    private final Poster poster = new Poster();

    /** What this passive channel answers, until it is registered. */
    private ConnectionRequest request;

    private volatile State state = State.OPEN;
    private volatile InetSocketAddress localAddress;
    private volatile InetSocketAddress remoteAddress;
    private volatile byte[] peerPrivateData;

    private InetSocketAddress boundAddress;
    private ChannelPromise connectPromise;
    private SocketAddress requestedAddress;
    private Future<?> connectTimeout;

    private boolean carriesPrivateData;
    private QueuePair queuePair;
    private SendRing sends;
    private ReceiveRing receives;
    private ChannelOutboundBuffer outbound;
    private boolean readPending;

    /** The peer is gone; the channel closes when what has arrived is delivered. */
    private boolean disconnected;

    private Throwable disconnectCause;

    /** The rest of a close that waits for posted work. */
    private Runnable closeTask;

    /** Registrations made for one exposure, by handle. */
    private final IntObjectMap<MemoryRegion> exposureRegistrations = new IntObjectHashMap<>(4);

    /** A channel to connect. */
    public RdmaChannel() {
        super(null);
    }

    RdmaChannel(Channel parent, ConnectionRequest request) {
        super(parent);
        this.request = request;
        localAddress = request.localAddress();
        remoteAddress = request.remoteAddress();
    }

    // ------------------------------------------------------------------ memory

    /** What the peer sent as connection private data, empty if nothing; {@code null} before the channel is active. */
    public byte[] peerPrivateData() {
        byte[] data = peerPrivateData;
        return data == null ? null : data.clone();
    }

    /**
     * A buffer of registered memory with reader and writer index 0: the channel sends and receives there without a copy.
     * Event loop only; it may be released on any thread.
     *
     * @param capacity in bytes; the buffer does not grow beyond it
     * @throws IllegalStateException when the event loop may not register more memory
     */
    public ByteBuf registeredBuffer(int capacity) {
        return loop().pool().registered(capacity);
    }

    /**
     * The bytes of registered memory that this channel's event loop has lent, to all its channels: posted as receives, held
     * by messages or under way. Event loop only.
     */
    public long registeredBytesInUse() {
        return loop().pool().lentBytes();
    }

    /** The most bytes that one event loop registers: {@code -Dorg.rpcrdma.registeredMemoryLimit}. */
    public static long registeredBytesLimit() {
        return RegisteredBufferPool.limit();
    }

    /**
     * The receives that are posted at least at any time while the pipeline reads; fewer than {@link
     * RdmaChannelOption#RECEIVE_DEPTH} because they are replaced in batches. Event loop only, of a channel that is active.
     */
    public int keptReceives() {
        return receives.least();
    }

    /**
     * Changes {@link #keptReceives()}. More are posted before this returns, so that they may be promised to the peer. When it
     * is fewer, nothing is withdrawn: receives that are used up are not replaced until the rest is down to the new number.
     * Event loop only, of a channel that is active.
     *
     * @param count from 1
     * @return how many are kept now: less than asked for when {@link RdmaChannelOption#RECEIVE_DEPTH} or the registered memory
     *     end before
     * @throws IllegalStateException when the device refuses receives; the channel is closed then
     */
    public int keepReceives(int count) {
        checkPositive(count, "count");
        try {
            return receives.keep(count);
        } catch (RuntimeException e) {
            unsafe().close(voidPromise());
            throw new IllegalStateException("receives cannot be posted: " + this, e);
        }
    }

    /**
     * Lets the peer of this channel, and nobody else, reach exactly the bytes {@code index .. index + length} of the
     * buffer. Event loop only. The caller keeps a reference to the buffer until the handle is invalidated or the channel
     * is closed ({@code channelInactive}).
     *
     * @param buffer direct and in one piece
     * @return the handle to advertise, an unsigned 32-bit number
     * @throws IllegalStateException when the channel is not active
     */
    public int expose(ByteBuf buffer, int index, int length, RemoteAccess access) {
        if (state != State.ACTIVE) {
            throw new IllegalStateException(
                    "memory is exposed on a channel that is not active: " + this);
        }
        if (index < 0 || length < 0 || index > buffer.capacity() - length) {
            throw new IndexOutOfBoundsException(
                    "index: "
                            + index
                            + ", length: "
                            + length
                            + " (expected: within 0.."
                            + buffer.capacity()
                            + ')');
        }
        int rights = access == RemoteAccess.READ ? QueuePair.REMOTE_READ : QueuePair.REMOTE_WRITE;
        MemoryRegion region = exposesParts() ? pooledRegion(buffer, index, length) : null;
        if (region != null) {
            boolean isPooled = config.getRegistrationPolicy() == RegistrationPolicy.POOLED;
            return queuePair.expose(
                    region,
                    buffer.memoryAddress() + index,
                    length,
                    isPooled ? rights | QueuePair.SHARED : rights);
        }
        region = loop().pool().register(buffer, index, length);
        try {
            int handle = queuePair.expose(region, region.address(), length, rights);
            exposureRegistrations.put(handle, region);
            return handle;
        } catch (RuntimeException e) {
            region.deregister();
            throw e;
        }
    }

    /**
     * Whether {@link #expose} should be given this memory itself, by the {@link RegistrationPolicy} of this channel. False for
     * memory that is better copied into a {@link #registeredBuffer} first. Event loop only.
     */
    public boolean exposesInPlace(ByteBuf buffer, int index, int length) {
        return buffer.isDirect()
                && buffer.nioBufferCount() == 1
                && (config.getRegistrationPolicy() == RegistrationPolicy.EXACT
                        || pooledRegion(buffer, index, length) != null);
    }

    /** Whether a range of a registration may be exposed through that registration. */
    private boolean exposesParts() {
        return config.getRegistrationPolicy() == RegistrationPolicy.POOLED
                || loop().context().capabilities().exactExposure();
    }

    /** The offset that goes with a valid handle, an unsigned 64-bit number. Event loop only. */
    public long exposedOffset(int handle) {
        return queuePair.exposedOffset(handle);
    }

    /** Whether neither side has invalidated the handle. Event loop only. */
    public boolean isExposed(int handle) {
        return state == State.ACTIVE && queuePair.isExposed(handle);
    }

    /**
     * Ends the peer's access before it returns. Does nothing for a handle that the peer has invalidated, or when the
     * channel is closed. A device that cannot do it loses the connection at once, which ends the access too (RFC 8166,
     * 4.5.4). Event loop only.
     *
     * @throws IllegalStateException when the connection had to be closed for it
     */
    public void invalidate(int handle) {
        if (queuePair == null) {
            return;
        }
        try {
            queuePair.invalidate(handle);
        } catch (RuntimeException e) {
            // Not through the pipeline, and without waiting for posted work: the peer still reaches
            // the memory.
            poster.abandon();
            unsafe().close(voidPromise());
            throw new IllegalStateException(
                    "handle 0x"
                            + Integer.toHexString(handle)
                            + " cannot be invalidated: the connection is closed",
                    e);
        }
        MemoryRegion registration = exposureRegistrations.remove(handle);
        if (registration != null) {
            registration.deregister();
        }
    }

    private MemoryRegion pooledRegion(ByteBuf buffer, int index, int length) {
        return buffer.hasMemoryAddress()
                ? loop().pool().region(buffer.memoryAddress() + index, length)
                : null;
    }

    // ------------------------------------------------------------------ life cycle

    @Override
    public RdmaChannelConfig config() {
        return config;
    }

    @Override
    public ChannelMetadata metadata() {
        return METADATA;
    }

    @Override
    public boolean isOpen() {
        return state != State.CLOSED;
    }

    @Override
    public boolean isActive() {
        return state == State.ACTIVE;
    }

    @Override
    public RdmaServerChannel parent() {
        return (RdmaServerChannel) super.parent();
    }

    @Override
    public InetSocketAddress localAddress() {
        return (InetSocketAddress) super.localAddress();
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return (InetSocketAddress) super.remoteAddress();
    }

    @Override
    protected SocketAddress localAddress0() {
        return localAddress;
    }

    @Override
    protected SocketAddress remoteAddress0() {
        return remoteAddress;
    }

    @Override
    protected void doRegister() throws Exception {
        super.doRegister();
        if (request == null) {
            return;
        }
        ConnectionRequest accepted = request;
        request = null;
        DeviceCapabilities capabilities = loop().context().capabilities();
        try {
            queuePair =
                    loop().context()
                            .createQueuePair(accepted, config.queuePairConfig(), new Events());
            createRings();
            carriesPrivateData = capabilities.privateDataOnAccept();
            queuePair.accept(privateData());
        } catch (Throwable t) {
            // Netty does not deregister what it could not register: the loop would wait for it.
            super.doDeregister();
            throw t;
        }
    }

    @Override
    protected void doDeregister() throws Exception {
        super.doDeregister();
        if (isOpen() && queuePair != null) {
            // A queue pair belongs to its event loop's completion queue: it cannot move.
            unsafe().close(voidPromise());
        }
    }

    @Override
    protected void doBind(SocketAddress address) {
        boundAddress = (InetSocketAddress) address;
    }

    private void createRings() {
        sends = new SendRing(config.getSendDepth());
        receives =
                new ReceiveRing(
                        queuePair,
                        loop().pool(),
                        config.getReceiveSize(),
                        config.getReceiveDepth());
        receives.replenish();
    }

    private void connect0(InetSocketAddress remote, InetSocketAddress local) throws Exception {
        DeviceCapabilities capabilities = loop().context().capabilities();
        queuePair = loop().context().createQueuePair(config.queuePairConfig(), new Events());
        createRings();
        carriesPrivateData = capabilities.maxPrivateData() > 0;
        queuePair.connect(remote, local != null ? local : boundAddress, privateData());
        state = State.CONNECTING;
    }

    /** Where the device carries none, both ends go by their configuration. */
    private byte[] privateData() {
        return carriesPrivateData ? config.getPrivateData() : new byte[0];
    }

    /** There is no half-close: a channel that cannot send ends. */
    @Override
    protected void doShutdownOutput() {
        unsafe().close(voidPromise());
    }

    @Override
    protected void doDisconnect() {
        doClose();
    }

    @Override
    protected void doClose() {
        state = State.CLOSED;
        if (request != null) {
            request.reject(new byte[0]);
            request = null;
        }
        if (connectTimeout != null) {
            connectTimeout.cancel(false);
            connectTimeout = null;
        }
        if (connectPromise != null) {
            connectPromise.tryFailure(new ClosedChannelException());
            connectPromise = null;
        }
        if (queuePair != null) {
            queuePair.close();
            // From here on nobody but us touches the memory.
            if (sends != null) {
                sends.clear();
                receives.clear();
            }
            exposureRegistrations.values().forEach(MemoryRegion::deregister);
            exposureRegistrations.clear();
            queuePair = null;
        }
    }

    @Override
    void cut() {
        Runnable task = closeTask;
        if (task != null) {
            closeTask = null;
            task.run();
        }
    }

    @Override
    protected AbstractUnsafe newUnsafe() {
        return new RdmaUnsafe();
    }

    private final class RdmaUnsafe extends AbstractUnsafe {
        @Override
        public void connect(SocketAddress remote, SocketAddress local, ChannelPromise promise) {
            if (promise.isDone() || !ensureOpen(promise)) {
                return;
            }
            try {
                if (connectPromise != null) {
                    throw new ConnectionPendingException();
                }
                if (state != State.OPEN || queuePair != null) {
                    throw new AlreadyConnectedException();
                }
                if (((InetSocketAddress) remote).isUnresolved()) {
                    throw new UnresolvedAddressException();
                }
                connectPromise = promise;
                requestedAddress = remote;
                try {
                    connect0((InetSocketAddress) remote, (InetSocketAddress) local);
                } catch (Throwable t) {
                    // As when the peer refuses: a half-made queue pair is no use.
                    failConnect(annotate(t));
                    return;
                }
                limitConnect(remote);
                promise.addListener(
                        future -> {
                            if (future.isCancelled()) {
                                connectPromise = null;
                                close(voidPromise());
                            }
                        });
            } catch (Throwable t) {
                promise.tryFailure(annotateConnectException(t, remote));
                closeIfClosed();
            }
        }

        private void limitConnect(SocketAddress remote) {
            int millis = config.getConnectTimeoutMillis();
            if (millis > 0) {
                connectTimeout =
                        eventLoop()
                                .schedule(
                                        () ->
                                                failConnect(
                                                        new ConnectTimeoutException(
                                                                "connection timed out after "
                                                                        + millis
                                                                        + " ms: "
                                                                        + remote)),
                                        millis,
                                        TimeUnit.MILLISECONDS);
            }
        }

        void failConnect(Throwable cause) {
            ChannelPromise promise = connectPromise;
            connectPromise = null;
            if (promise != null) {
                promise.tryFailure(cause);
            }
            close(voidPromise());
        }

        Throwable annotate(Throwable cause) {
            return annotateConnectException(cause, requestedAddress);
        }

        @Override
        protected Executor prepareToClose() {
            if (state != State.ACTIVE || poster.abandoned || sends.isEmpty()) {
                return null;
            }
            // Posted work still uses the memory, and whoever closes in the listener of a write
            // wants it to arrive.
            return task -> {
                closeTask = task;
                eventLoop()
                        .schedule(
                                RdmaChannel.this::cut,
                                config.getDrainMillis(),
                                TimeUnit.MILLISECONDS);
            };
        }

        void flushMore() {
            flush0();
        }
    }

    private RdmaUnsafe rdmaUnsafe() {
        return (RdmaUnsafe) unsafe();
    }

    // ------------------------------------------------------------------ reading

    @Override
    protected void doBeginRead() {
        readPending = true;
        if (disconnected || (receives != null && receives.hasMessage())) {
            becomeReady();
        }
    }

    void clearReadPending() {
        if (!isRegistered() || eventLoop().inEventLoop()) {
            readPending = false;
        } else {
            eventLoop()
                    .execute(
                            () -> {
                                if (!config.isAutoRead()) {
                                    readPending = false;
                                }
                            });
        }
    }

    @Override
    void doDeliver() {
        if (state == State.ACTIVE && readPending && receives.hasMessage()) {
            deliverMessages();
        }
        if (disconnected && isOpen() && (receives == null || !receives.hasMessage())) {
            if (disconnectCause != null) {
                pipeline().fireExceptionCaught(disconnectCause);
            }
            unsafe().close(voidPromise());
        }
    }

    private void deliverMessages() {
        ChannelPipeline pipeline = pipeline();
        var handle = unsafe().recvBufAllocHandle();
        handle.reset(config);
        do {
            ByteBuf message = RegisteredBufferPool.watched(receives.poll());
            if (!disconnected) {
                try {
                    receives.replenish();
                } catch (RuntimeException e) {
                    // Without the receives that it was promised a peer cannot go on: the channel
                    // closes.
                    message.release();
                    throw e;
                }
            }
            readPending = false;
            handle.attemptedBytesRead(message.readableBytes());
            handle.lastBytesRead(message.readableBytes());
            handle.incMessagesRead(1);
            pipeline.fireChannelRead(message);
        } while (state == State.ACTIVE && receives.hasMessage() && handle.continueReading());
        handle.readComplete();
        pipeline.fireChannelReadComplete();
    }

    // ------------------------------------------------------------------ writing

    @Override
    protected Object filterOutboundMessage(Object message) throws Exception {
        if (message instanceof ByteBuf buffer) {
            checkLength(buffer);
            return sendable(buffer);
        }
        if (message instanceof RdmaSend || message instanceof RdmaWrite) {
            ByteBufHolder holder = (ByteBufHolder) message;
            // Asked once: when it is copied it is released, and a holder does not show what is
            // released.
            ByteBuf content = holder.content();
            if (message instanceof RdmaSend) {
                checkLength(content);
            }
            ByteBuf memory = sendable(content);
            return memory == content ? message : holder.replace(memory);
        }
        if (message instanceof RdmaRead read) {
            ByteBuf sink = read.content();
            if (!sink.isDirect() || sink.nioBufferCount() != 1) {
                throw new IllegalArgumentException(
                        "sink of an RDMA Read: " + sink + " (expected: direct, in one piece)");
            }
            return message;
        }
        throw new UnsupportedOperationException(
                "unsupported message type: " + StringUtil.simpleClassName(message) + EXPECTED);
    }

    /** A Send that does not fit the peer's receive would cost the connection (RFC 8166, 3.3). */
    private void checkLength(ByteBuf buffer) throws MessageTooLongException {
        if (buffer.readableBytes() > config.getMaxSendSize()) {
            throw new MessageTooLongException(buffer.readableBytes(), config.getMaxSendSize());
        }
    }

    /** The buffer itself if the device can use its memory, otherwise a copy of it. Takes the buffer over. */
    private ByteBuf sendable(ByteBuf buffer) {
        int length = buffer.readableBytes();
        boolean inOnePiece = buffer.isDirect() && buffer.nioBufferCount() == 1;
        if (length == 0 || (inOnePiece && isUsable(buffer, length))) {
            return buffer;
        }
        ByteBuf copy = loop().pool().registered(length);
        copy.writeBytes(buffer, buffer.readerIndex(), length);
        buffer.release();
        return copy;
    }

    private boolean isUsable(ByteBuf buffer, int length) {
        return pooledRegion(buffer, buffer.readerIndex(), length) != null
                || (length >= COPY_LIMIT && loop().context().capabilities().cheapRegistration());
    }

    @Override
    protected void doWrite(ChannelOutboundBuffer in) throws Exception {
        outbound = in;
        try {
            poster.post(in);
        } catch (RuntimeException e) {
            // What is half posted cannot be taken back: the channel closes, as after any failed
            // write, and does not wait for it.
            poster.abandon();
            throw new IOException("posting failed: " + e.getMessage(), e);
        }
        completeNothings();
        removeCancelled(in);
    }

    /** Completes empty buffers that have nothing posted before them any more. */
    private void completeNothings() {
        while (!sends.isEmpty() && sends.headIsNothing()) {
            boolean isHead = isHeadOfOutbound();
            sends.removeHead();
            if (isHead) {
                outbound.remove();
            }
        }
    }

    /**
     * Makes the oldest posted message the head of the outbound buffer too: cancelled ones before it go. False when the
     * buffer was emptied meanwhile, because the output was shut down.
     */
    private boolean isHeadOfOutbound() {
        Object message = sends.headMessage();
        while (outbound.current() != message) {
            if (!outbound.remove()) {
                return false;
            }
        }
        return true;
    }

    /** With nothing in flight, what is left of the flushed messages was cancelled before it could be posted. */
    private void removeCancelled(ChannelOutboundBuffer in) {
        if (sends.isEmpty()) {
            while (in.size() > 0) {
                in.remove();
            }
        }
    }

    /** Posts flushed messages that are not posted yet; the last one of a batch is signalled. */
    private final class Poster implements ChannelOutboundBuffer.MessageProcessor {
        private int skip;
        private int room;

        /** Posted when it is known whether another one follows. */
        private Object held;

        /** Whether work requests wait for the doorbell. */
        private boolean opened;

        /** The device has refused work: what is posted may never complete. */
        private boolean abandoned;

        /** Whether flushed messages wait for room on the send queue. */
        private boolean blocked;

        void abandon() {
            abandoned = true;
            held = null;
        }

        void post(ChannelOutboundBuffer in) throws Exception {
            skip = sends.size();
            room = config.getSendDepth() - skip;
            blocked = false;
            in.forEachFlushedMessage(this);
            postHeld(QueuePair.SIGNALED);
            if (opened) {
                opened = false;
                queuePair.doorbell();
            }
        }

        @Override
        public boolean processMessage(Object message) {
            if (skip > 0) {
                skip--;
                return true;
            }
            if (room == 0) {
                blocked = true;
                return false;
            }
            room--;
            if (isNothing(message)) {
                postHeld(QueuePair.SIGNALED);
                sends.addNothing(message);
            } else {
                postHeld(0);
                held = message;
            }
            return true;
        }

        private void postHeld(int flags) {
            Object message = held;
            if (message == null) {
                return;
            }
            held = null;
            opened = true;
            open(message, SEND | sends.next(), flags);
            ByteBuf memory = content(message);
            MemoryRegion registration = memory.isReadable() ? gather(memory) : null;
            sends.add(message, memory.retain(), registration);
        }

        private void open(Object message, long id, int flags) {
            if (message instanceof RdmaWrite write) {
                queuePair.write(id, flags, write.offset(), write.handle());
            } else if (message instanceof RdmaRead read) {
                queuePair.read(id, flags | QueuePair.SIGNALED, read.offset(), read.handle());
            } else if (message instanceof RdmaSend send) {
                queuePair.sendWithInvalidate(id, flags, send.invalidateHandle());
            } else {
                queuePair.send(id, flags);
            }
        }

        /** Returns the registration that was made for this work request, or {@code null}. */
        private MemoryRegion gather(ByteBuf memory) {
            int index = memory.readerIndex();
            int length = memory.readableBytes();
            MemoryRegion region = pooledRegion(memory, index, length);
            if (region != null) {
                queuePair.gather(memory.memoryAddress() + index, length, region.localKey());
                return null;
            }
            region = loop().pool().register(memory, index, length);
            try {
                queuePair.gather(region.address(), length, region.localKey());
            } catch (RuntimeException e) {
                region.deregister();
                throw e;
            }
            return region;
        }
    }

    private static ByteBuf content(Object message) {
        return message instanceof ByteBuf buffer ? buffer : ((ByteBufHolder) message).content();
    }

    /** An empty buffer is Netty's way to wait for what was written before it; it is not a message. */
    private static boolean isNothing(Object message) {
        return message instanceof ByteBuf buffer && !buffer.isReadable();
    }

    // ------------------------------------------------------------------ events of the queue pair

    private final class Events implements QueuePairHandler {
        @Override
        public void connected(byte[] privateData) {
            if (!isOpen()) {
                return;
            }
            peerPrivateData = carriesPrivateData ? privateData : config.getPeerPrivateData();
            localAddress = queuePair.localAddress();
            remoteAddress = queuePair.remoteAddress();
            state = State.ACTIVE;
            if (connectTimeout != null) {
                connectTimeout.cancel(false);
                connectTimeout = null;
            }
            ChannelPromise promise = connectPromise;
            connectPromise = null;
            // False says that the user has cancelled.
            boolean wanted = promise == null ? parent() != null : promise.trySuccess();
            pipeline().fireChannelActive();
            if (!wanted) {
                unsafe().close(voidPromise());
            }
        }

        @Override
        public void connectFailed(Throwable cause) {
            rdmaUnsafe().failConnect(rdmaUnsafe().annotate(cause));
        }

        @Override
        public void completed(long id, WorkStatus status, int length, int invalidatedKey) {
            if ((id & SEND) != 0) {
                sendCompleted(id & ~SEND, status);
            } else if (status == WorkStatus.SUCCESS) {
                receives.complete(length);
                if (readPending) {
                    becomeReady();
                }
            } else {
                receives.flushed();
            }
        }

        private void sendCompleted(long number, WorkStatus status) {
            while (!sends.isEmpty() && sends.head() < number) {
                completeHead(WorkStatus.SUCCESS);
            }
            if (!sends.isEmpty()) {
                completeHead(status);
            }
            completeNothings();
            if (closeTask != null) {
                if (sends.isEmpty()) {
                    cut();
                }
            } else if (poster.blocked && status == WorkStatus.SUCCESS) {
                rdmaUnsafe().flushMore();
            }
        }

        private void completeHead(WorkStatus status) {
            if (status == WorkStatus.FLUSHED) {
                // The outbound buffer fails the message, with the cause of the close that follows.
                sends.removeHead();
                return;
            }
            Object message = sends.headMessage();
            boolean isHead = isHeadOfOutbound();
            sends.removeHead();
            if (!isHead) {
                return;
            }
            if (status == WorkStatus.SUCCESS) {
                outbound.remove();
            } else {
                outbound.remove(new RdmaException(StringUtil.simpleClassName(message), status));
            }
        }

        @Override
        public void disconnected(Throwable cause) {
            disconnected = true;
            disconnectCause = cause;
            if (closeTask != null) {
                cut();
            } else {
                becomeReady();
            }
        }
    }
}
