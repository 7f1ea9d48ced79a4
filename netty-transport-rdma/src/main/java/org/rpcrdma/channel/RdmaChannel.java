// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static io.netty.util.internal.ObjectUtil.checkInRange;
import static io.netty.util.internal.ObjectUtil.checkPositive;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandler;
import io.netty.channel.ChannelMetadata;
import io.netty.channel.ChannelPromise;
import io.netty.util.internal.StringUtil;
import org.rpcrdma.channel.internal.ChannelInternals;
import org.rpcrdma.channel.internal.DeviceMemory;
import org.rpcrdma.channel.memory.RegisteredByteBuf;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;

/**
 * A connection over RDMA.
 *
 * <p>Preserves message boundaries: an inbound {@link ByteBuf} is one received Send, delivered in the registered receive
 * buffer without a copy; an outbound {@link ByteBuf} is one Send. {@link RdmaSendWithInvalidate}, {@link RdmaWrite} and
 * {@link RdmaRead} are written like any message, posted in order with the Sends, and complete by their promise. {@code
 * flush()} posts them and rings the doorbell.
 *
 * <p>The promise of a write succeeds when the device has completed the work request, so that the water marks bound the
 * bytes in flight, and closing in the listener of a write loses no data. A closing channel lets posted work finish
 * first, for at most {@link RdmaChannelOption#DRAIN_MILLIS}. There is no half-close, and so no {@code shutdownOutput}.
 */
public final class RdmaChannel extends AbstractConnectedRdmaChannel {

    /** Reads up to 64 messages before channelReadComplete, because most are short. */
    private static final ChannelMetadata METADATA = new ChannelMetadata(false, 64);

    private static final String EXPECTED =
            " (expected: ByteBuf, RdmaSendWithInvalidate, RdmaWrite, RdmaRead)";

    private final RdmaChannelConfig config = new RdmaChannelConfig(this);

    /** {@code null} before registration. */
    private ZeroCopyRegistrar memory;

    /** Protocol of the current queue pair, or of the last one. */
    private volatile MessageChannelDataPath dataPath;

    /** See {@link ChannelInternals#readInto}. */
    ChannelHandlerContext readerContext;

    ChannelInboundHandler reader;

    /** See {@link ChannelInternals#boundUnsent}. */
    boolean isUnsentBounded;

    /** Size of receives set before they exist; 0 for the configured size. */
    private int receiveUpTo;

    /** A channel that connects. */
    public RdmaChannel() {
        attr(ChannelInternals.KEY).set(new Internals());
    }

    RdmaChannel(Channel parent, ConnectionRequest request) {
        super(parent, request);
        attr(ChannelInternals.KEY).set(new Internals());
    }

    @Override
    public ChannelMetadata metadata() {
        return METADATA;
    }

    @Override
    public RdmaChannelConfig config() {
        return config;
    }

    @Override
    public RdmaServerChannel parent() {
        return (RdmaServerChannel) super.parent();
    }

    // ------------------------------------------------------------------ memory

    /**
     * Allocates registered memory, with which the channel sends and receives without a copy. Event loop only; the
     * buffer may be released on any thread.
     *
     * @param capacity in bytes; the buffer does not grow beyond it
     * @return a buffer with reader and writer index 0; the caller releases it
     * @throws IllegalStateException when there is no more memory to register, at once, or when another thread calls
     */
    public ByteBuf registeredBuffer(int capacity) {
        checkInEventLoop("registeredBuffer");
        return poller().pool.registered(capacity);
    }

    /**
     * As {@link #registeredBuffer}, for a message that is written to this channel immediately. Netty's leak detector
     * tracks the buffer from level {@code ADVANCED} on, without sampling at level {@code SIMPLE}. Event loop only; may
     * be released on any thread.
     *
     * @param capacity in bytes; the buffer does not grow beyond it
     * @return an empty buffer, owned by the caller
     * @throws IllegalStateException when there is no more memory to register, at once, or when another thread calls
     */
    public ByteBuf sendBuffer(int capacity) {
        checkInEventLoop("sendBuffer");
        return poller().pool.toSend(capacity);
    }

    /**
     * {@return the bytes of registered memory in use by all channels of this event loop: posted as receives, held by
     * messages or in flight} Event loop only.
     */
    public long registeredBytesInUse() {
        checkInEventLoop("registeredBytesInUse");
        return poller().pool.lentBytes();
    }

    /**
     * {@return the bytes that all event loops of the JVM have registered, in use or cached} Any thread.
     */
    public static long registeredBytes() {
        return DirectMemoryBudget.jvm().used();
    }

    /**
     * {@return the most bytes that all event loops of the JVM may register together: {@code
     * -Dorg.rpcrdma.registeredMemoryLimit}}
     */
    public static long registeredBytesLimit() {
        return DirectMemoryBudget.jvm().limit();
    }

    /**
     * Exposes exactly the bytes {@code index .. index + length} of the buffer to the peer of this channel only. Event
     * loop only. The caller keeps a reference to the buffer until the handle is invalidated or the channel is closed
     * ({@code channelInactive}).
     *
     * @param buffer direct and in one piece; writable, or for {@link RemoteAccess#READ} a read-only view of a {@link
     *     #registeredBuffer}
     * @param index of the first byte in the buffer
     * @param length in bytes, from 1
     * @param access rights of the peer
     * @return the handle to advertise, an unsigned 32-bit number
     * @throws IllegalArgumentException when the buffer is read-only
     * @throws IllegalStateException when the channel is not active, or its event loop is not the caller
     */
    public int expose(ByteBuf buffer, int index, int length, RemoteAccess access) {
        checkInEventLoop("expose");
        if (!isActive()) {
            throw new IllegalStateException(
                    "memory is exposed on a channel that is not active: " + this);
        }
        if (index < 0 || length < 0 || index > buffer.capacity() - length) {
            throw new IndexOutOfBoundsException(
                    String.format(
                            "index: %d, length: %d (expected: within 0..%d)",
                            index, length, buffer.capacity()));
        }
        return dataPath.exposures.expose(
                buffer, index, length, access, config.getRegistrationPolicy());
    }

    /**
     * {@return the offset of a valid handle, an unsigned 64-bit number} Event loop only.
     *
     * @param handle an unsigned 32-bit number, from {@link #expose}
     */
    public long exposedOffset(int handle) {
        return madeTraffic("exposedOffset").exposures.offset(handle);
    }

    /**
     * {@return whether neither side has invalidated the handle} Event loop only.
     *
     * @param handle an unsigned 32-bit number, from {@link #expose}
     */
    public boolean isExposed(int handle) {
        checkInEventLoop("isExposed");
        return isActive() && dataPath.exposures.isExposed(handle);
    }

    /**
     * Ends the peer's access before this method returns. No effect if the peer has invalidated the handle, or the
     * channel is closed. If the device fails to invalidate, the connection is closed at once, which also ends the
     * access (RFC 8166, 4.5.4). Event loop only.
     *
     * @param handle an unsigned 32-bit number, from {@link #expose}
     * @throws IllegalStateException if the connection had to be closed
     */
    public void invalidate(int handle) {
        checkInEventLoop("invalidate");
        if (!hasQueuePair()) {
            return;
        }
        try {
            dataPath.exposures.invalidate(handle);
        } catch (RuntimeException | Error e) {
            // The peer can still access the memory.
            closeAtOnce();
            throw new IllegalStateException(
                    "handle 0x"
                            + Integer.toHexString(handle)
                            + " cannot be invalidated: the connection is closed",
                    e);
        }
    }

    /** The longest message accepted, in bytes. */
    int receiveSize() {
        return receiveUpTo == 0 ? config().getReceiveSize() : receiveUpTo;
    }

    /** The data path; exists from bind, connect or accept on. */
    private MessageChannelDataPath madeTraffic(String method) {
        checkInEventLoop(method);
        if (dataPath == null) {
            throw new IllegalStateException(
                    method
                            + " was called before there is a connection: "
                            + this
                            + " (expected: a channel that is active)");
        }
        return dataPath;
    }

    // ------------------------------------------------------------------ life cycle

    @Override
    protected void doRegister() throws Exception {
        super.doRegister();
        memory =
                new ZeroCopyRegistrar(
                        poller().pool, poller().context().capabilities().cheapRegistration());
    }

    @Override
    QueuePairConfig queuePairConfig() {
        return config.queuePairConfig();
    }

    @Override
    int drainMillis() {
        return config.getDrainMillis();
    }

    @Override
    MessageChannelDataPath newDataPath(QueuePair made) {
        dataPath = new MessageChannelDataPath(this, memory, made);
        return dataPath;
    }

    // ------------------------------------------------------------------ writing

    @Override
    protected Object filterOutboundMessage(Object message) throws Exception {
        if (dataPath != null) {
            dataPath.unbuffered().spill(); // they go before
        }
        if (message instanceof ByteBuf buffer) {
            if (!buffer.isReadable()) {
                buffer.release();
                return AbstractChannelDataPath.NOTHING;
            }
            checkLength(buffer);
            return memory.sendable(buffer);
        }
        if (message instanceof RdmaSendWithInvalidate || message instanceof RdmaWrite) {
            ByteBufHolder holder = (ByteBufHolder) message;
            // Read once: a copy releases the original, which a holder then does not return.
            ByteBuf content = holder.content();
            if (message instanceof RdmaSendWithInvalidate) {
                checkLength(content);
            }
            ByteBuf sendable = memory.sendable(content);
            return sendable == content ? message : holder.replace(sendable);
        }
        if (message instanceof RdmaRead read) {
            ByteBuf sink = read.content();
            if (!DeviceMemory.isWritable(sink)) {
                throw new IllegalArgumentException(
                        "sink of an RDMA Read: "
                                + sink
                                + " (expected: direct, in one piece, writable)");
            }
            return message;
        }
        throw new UnsupportedOperationException(
                "unsupported message type: " + StringUtil.simpleClassName(message) + EXPECTED);
    }

    @Override
    public boolean isWritable() {
        MessageChannelDataPath current = dataPath;
        return super.isWritable() && (current == null || current.unbuffered().isWritable());
    }

    @Override
    public long bytesBeforeUnwritable() {
        long bytes = super.bytesBeforeUnwritable();
        MessageChannelDataPath current = dataPath;
        return current == null ? bytes : current.unbuffered().bytesBeforeUnwritable(bytes);
    }

    @Override
    public long bytesBeforeWritable() {
        long bytes = super.bytesBeforeWritable();
        MessageChannelDataPath current = dataPath;
        return current == null ? bytes : current.unbuffered().bytesBeforeWritable(bytes);
    }

    /** A Send longer than the peer's receive would end the connection (RFC 8166, 3.3). */
    private void checkLength(ByteBuf buffer) throws MessageTooLongException {
        int limit = config.getMaxSendSize();
        if (buffer.readableBytes() > limit) {
            throw new MessageTooLongException(buffer.readableBytes(), limit);
        }
    }

    // ------------------------------------------------------------------ codec

    private final class Internals implements ChannelInternals {

        @Override
        public void readInto(ChannelHandlerContext context, ChannelInboundHandler handler) {
            boolean isOfLoop = context != null && context.executor() == eventLoop();
            readerContext = isOfLoop ? context : null;
            reader = isOfLoop ? handler : null;
        }

        @Override
        public boolean isOutputClosed() {
            return ((Unsafe) ownUnsafe()).outboundBuffer() == null;
        }

        @Override
        public boolean exposesInPlace(ByteBuf buffer, int index, int length) {
            checkInEventLoop("exposesInPlace");
            return (config.getRegistrationPolicy() == RegistrationPolicy.EXACT
                            && DeviceMemory.isWritable(buffer))
                    || (DeviceMemory.isInOnePiece(buffer)
                            && memory.pooled(buffer, index, length) != null);
        }

        @Override
        public boolean mayPrepend(ByteBuf buffer) {
            return RegisteredByteBuf.isOnlyReference(buffer, poller().pool);
        }

        @Override
        public ByteBuf sendablePart(ByteBuf buffer, int index, int length) {
            checkInEventLoop("sendablePart");
            return memory.sendablePart(buffer, index, length);
        }

        @Override
        public boolean tryWrite(Object message, ChannelPromise promise) {
            return dataPath != null && dataPath.tryWrite(message, promise);
        }

        @Override
        public void boundUnsent(boolean isBounded) {
            isUnsentBounded = isBounded;
            if (dataPath != null) {
                dataPath.checkUnsent();
            }
        }

        @Override
        public boolean takesInvalidation() {
            checkInEventLoop("takesInvalidation");
            return poller().context().capabilities().remoteInvalidation();
        }

        @Override
        public void incompleteBegins(int bytes) {
            checkInEventLoop("incompleteBegins");
            if (isActive()) {
                dataPath.incomplete.take(bytes);
            }
        }

        @Override
        public void incompleteEnds(int bytes) {
            if (isActive()) {
                checkInEventLoop("incompleteEnds");
                dataPath.incomplete.give(bytes);
            }
        }

        @Override
        public boolean receivesWithoutMemory() {
            checkInEventLoop("receivesWithoutMemory");
            return poller().context().capabilities().receivesWithoutMemory();
        }

        @Override
        public void receiveUpTo(int bytes) {
            checkInRange(bytes, 1024, 1 << 20, "bytes");
            checkInEventLoop("receiveUpTo");
            if (!receivesWithoutMemory()) {
                throw new IllegalStateException(
                        "receives of "
                                + RdmaChannel.this
                                + " have their memory already (set RECEIVE_SIZE)");
            }
            receiveUpTo = bytes;
            if (dataPath != null) {
                dataPath.receives.size(bytes);
            }
        }

        @Override
        public int keptReceives() {
            return madeTraffic("keptReceives").receives.least();
        }

        @Override
        public int keepReceives(int count) {
            checkPositive(count, "count");
            PostedReceives receives = madeTraffic("keepReceives").receives;
            try {
                return receives.keep(count);
            } catch (RuntimeException | Error e) {
                unsafe().close(voidPromise());
                throw new IllegalStateException(
                        "receives cannot be posted: " + RdmaChannel.this, e);
            }
        }

        @Override
        public long nanoTime() {
            return poller().context.nanoTime();
        }

        @Override
        public boolean flushesInParts() {
            checkInEventLoop("flushesInParts");
            return poller().isBusyWithOnly(RdmaChannel.this);
        }
    }
}
