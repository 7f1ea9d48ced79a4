// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static io.netty.util.internal.ObjectUtil.checkInRange;
import static io.netty.util.internal.ObjectUtil.checkPositive;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import io.netty.channel.Channel;
import io.netty.channel.ChannelMetadata;
import io.netty.util.internal.StringUtil;
import org.rpcrdma.Experimental;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.DirectMemory;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;

/**
 * A connection over RDMA.
 *
 * <p>Message boundaries are kept: an inbound {@link ByteBuf} is one received Send, delivered in the registered
 * receive buffer itself; an outbound {@link ByteBuf} is one Send. {@link RdmaSendWithInvalidate}, {@link RdmaWrite} and
 * {@link RdmaRead} are written like any message, are posted in order with the Sends and complete by their promise.
 * {@code flush()} is the doorbell.
 *
 * <p>The promise of a write succeeds when the device is done with the memory, so that the water marks bound what is in
 * flight, and closing in the listener of a write loses nothing. A closing channel lets posted work finish first, for
 * at most {@link RdmaChannelOption#DRAIN_MILLIS}.
 *
 * <p>There is no half-close: {@code shutdownOutput} does not exist here.
 */
public final class RdmaChannel extends AbstractRdmaConnection {

    /** So many messages are read before what they were answered with is sent at once: most are short. */
    private static final ChannelMetadata METADATA = new ChannelMetadata(false, 64);

    private static final String EXPECTED =
            " (expected: "
                    + StringUtil.simpleClassName(ByteBuf.class)
                    + ", "
                    + StringUtil.simpleClassName(RdmaSendWithInvalidate.class)
                    + ", "
                    + StringUtil.simpleClassName(RdmaWrite.class)
                    + ", "
                    + StringUtil.simpleClassName(RdmaRead.class)
                    + ')';

    private final RdmaChannelConfig config = new RdmaChannelConfig(this);

    /** Known once the channel is registered. */
    private MessageRegistration memory;

    /** Of the queue pair, or of the last one when there is none. */
    private MessageChannelProtocol traffic;

    /** What receives take, where it was said before there are any; 0 for what is configured. */
    private int receiveUpTo;

    /** A channel to connect. */
    public RdmaChannel() {}

    RdmaChannel(Channel parent, ConnectionRequest request) {
        super(parent, request);
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
     * Lends registered memory: the channel sends and receives there without a copy. Event loop only; the buffer may be
     * released on any thread.
     *
     * @param capacity in bytes; the buffer does not grow beyond it
     * @return a buffer with reader and writer index 0; the caller releases it
     * @throws IllegalStateException when there is no more memory to register, at once, or when another thread calls
     */
    public ByteBuf registeredBuffer(int capacity) {
        checkInEventLoop("registeredBuffer");
        return loop().pool().registered(capacity);
    }

    /**
     * As {@link #registeredBuffer} for a message that is written to this channel before anything can go wrong. Netty's
     * leak detector watches it from level {@code ADVANCED} on, not one in so many of them at level {@code SIMPLE}.
     * Event loop only; it may be released on any thread.
     *
     * @param capacity in bytes; the buffer does not grow beyond it
     * @return an empty buffer with one reference, which is the caller's
     * @throws IllegalStateException when there is no more memory to register, at once, or when another thread calls
     */
    public ByteBuf sendBuffer(int capacity) {
        checkInEventLoop("sendBuffer");
        return loop().pool().toSend(capacity);
    }

    /**
     * {@return the bytes of registered memory that this channel's event loop has lent, to all its channels: posted as
     * receives, held by messages or under way} Event loop only.
     */
    public long registeredBytesInUse() {
        checkInEventLoop("registeredBytesInUse");
        return loop().pool().lentBytes();
    }

    /**
     * {@return the bytes that all event loops of the JVM have registered together, lent or kept for a while} Any
     * thread.
     */
    public static long registeredBytes() {
        return DirectMemory.jvm().used();
    }

    /**
     * {@return the most bytes that all event loops of the JVM register together: {@code
     * -Dorg.rpcrdma.registeredMemoryLimit}}
     */
    public static long registeredBytesLimit() {
        return DirectMemory.jvm().limit();
    }

    /**
     * Lets the peer of this channel, and nobody else, reach exactly the bytes {@code index .. index + length} of the
     * buffer. Event loop only. The caller keeps a reference to the buffer until the handle is invalidated or the
     * channel is closed ({@code channelInactive}).
     *
     * @param buffer direct and in one piece; not read-only, unless it is a {@link #registeredBuffer}
     * @param index of the first byte in the buffer
     * @param length in bytes, from 1
     * @param access what the peer may do there
     * @return the handle to advertise, an unsigned 32-bit number
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
                    "index: "
                            + index
                            + ", length: "
                            + length
                            + " (expected: within 0.."
                            + buffer.capacity()
                            + ')');
        }
        return traffic.exposures.expose(
                buffer, index, length, access, config.getRegistrationPolicy());
    }

    /**
     * {@return whether {@link #expose} should be given this memory itself, by the {@link RegistrationPolicy} of this
     * channel} False for memory that is better copied into a {@link #registeredBuffer} first. Event loop only.
     *
     * @param buffer any
     * @param index of the first byte in the buffer
     * @param length in bytes
     */
    public boolean exposesInPlace(ByteBuf buffer, int index, int length) {
        checkInEventLoop("exposesInPlace");
        return MessageRegistration.isInOnePiece(buffer)
                && ((config.getRegistrationPolicy() == RegistrationPolicy.EXACT
                                && !buffer.isReadOnly())
                        || memory.pooled(buffer, index, length) != null);
    }

    /**
     * {@return the offset that goes with a valid handle, an unsigned 64-bit number} Event loop only.
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
        return isActive() && traffic.exposures.isExposed(handle);
    }

    /**
     * {@return whether the device takes a peer's Send with Invalidate for handles of this channel} Where it does not,
     * no peer may be told that it does: such a Send ends the connection. Event loop only, once the channel is
     * registered.
     */
    public boolean takesInvalidation() {
        checkInEventLoop("takesInvalidation");
        return loop().context().capabilities().remoteInvalidation();
    }

    /**
     * Ends the peer's access before it returns. Does nothing for a handle that the peer has invalidated, or when the
     * channel is closed. A device that cannot do it loses the connection at once, which ends the access too (RFC 8166,
     * 4.5.4). Event loop only.
     *
     * @param handle an unsigned 32-bit number, from {@link #expose}
     * @throws IllegalStateException when the connection had to be closed for it
     */
    public void invalidate(int handle) {
        checkInEventLoop("invalidate");
        if (!hasQueuePair()) {
            return;
        }
        try {
            traffic.exposures.invalidate(handle);
        } catch (RuntimeException e) {
            // The peer still reaches the memory.
            closeAtOnce();
            throw new IllegalStateException(
                    "handle 0x"
                            + Integer.toHexString(handle)
                            + " cannot be invalidated: the connection is closed",
                    e);
        }
    }

    /**
     * Counts memory that is about to be taken for data which the peer has announced and not delivered, as that of RDMA
     * Reads, against {@link RdmaChannelOption#INCOMPLETE_BYTES_PER_ADDRESS}, until {@link #incompleteEnds} or the end
     * of the channel. Event loop only.
     *
     * @param bytes from 0
     * @throws IllegalStateException when the peer's address has its part already, or another thread calls; nothing is
     *     counted then
     */
    @Experimental
    public void incompleteBegins(int bytes) {
        checkInEventLoop("incompleteBegins");
        if (isActive()) {
            traffic.incomplete.take(bytes);
        }
    }

    /**
     * The data are there, or nobody wants them any more. Does nothing when the channel is closed. Event loop only.
     *
     * @param bytes as they were counted by {@link #incompleteBegins}
     */
    @Experimental
    public void incompleteEnds(int bytes) {
        if (isActive()) {
            checkInEventLoop("incompleteEnds");
            traffic.incomplete.give(bytes);
        }
    }

    // ------------------------------------------------------------------ receives

    /**
     * {@return whether the device asks for the memory of a receive when its message arrives, so that receives cost none
     * before} Event loop only, once the channel is registered.
     */
    public boolean receivesWithoutMemory() {
        checkInEventLoop("receivesWithoutMemory");
        return loop().context().capabilities().receivesWithoutMemory();
    }

    /**
     * Takes messages of up to so many bytes from now on, in the place of {@link RdmaChannelOption#RECEIVE_SIZE}. Event
     * loop only, once the channel is registered. Until the channel is active no message is taken, so that what
     * {@code channelActive} sets holds for all; but a handler may hold that event up, so who tells the peer of a size
     * sets it before that.
     *
     * @param bytes 1024 to 1 MiB
     * @throws IllegalStateException when the device has the memory of receives already: see
     *     {@link #receivesWithoutMemory()}
     */
    public void receiveUpTo(int bytes) {
        checkInRange(bytes, 1024, 1 << 20, "bytes");
        checkInEventLoop("receiveUpTo");
        if (!receivesWithoutMemory()) {
            throw new IllegalStateException(
                    "receives of " + this + " have their memory already (set RECEIVE_SIZE)");
        }
        receiveUpTo = bytes;
        if (traffic != null) {
            traffic.receives.size(bytes);
        }
    }

    /** Bytes of the longest message that is taken. */
    int receiveSize() {
        return receiveUpTo == 0 ? config().getReceiveSize() : receiveUpTo;
    }

    /**
     * {@return the receives that are posted at least at any time while the pipeline reads; fewer than {@link
     * RdmaChannelOption#RECEIVE_DEPTH} because they are replaced in batches} Event loop only, of a channel that is
     * active, or was.
     *
     * @throws IllegalStateException when the channel has no receives yet, or another thread calls
     */
    public int keptReceives() {
        return madeTraffic("keptReceives").receives.least();
    }

    /** There is none before the channel is bound, connects or is accepted. */
    private MessageChannelProtocol madeTraffic(String method) {
        checkInEventLoop(method);
        if (traffic == null) {
            throw new IllegalStateException(
                    method
                            + " was called before there is a connection: "
                            + this
                            + " (expected: a channel that is active)");
        }
        return traffic;
    }

    /**
     * Changes {@link #keptReceives()}. More are posted before this returns, so that they may be promised to the peer.
     * When it is fewer, nothing is withdrawn: receives that are used up are not replaced until the rest is down to the
     * new number. Changes nothing once the channel is closed. Event loop only, of a channel that is active, or was.
     *
     * @param count from 1
     * @return how many are kept now: less than asked for when {@link RdmaChannelOption#RECEIVE_DEPTH} or the registered
     *     memory end before
     * @throws IllegalStateException when the device refuses receives, and the channel is closed then; or when the
     *     channel has no receives yet, or another thread calls
     */
    public int keepReceives(int count) {
        checkPositive(count, "count");
        PostedReceives receives = madeTraffic("keepReceives").receives;
        try {
            return receives.keep(count);
        } catch (RuntimeException e) {
            unsafe().close(voidPromise());
            throw new IllegalStateException("receives cannot be posted: " + this, e);
        }
    }

    /**
     * The clock that deadlines of this channel and the scheduled tasks of its event loop go by. Callable from any
     * thread, once the channel is registered.
     *
     * @return nanoseconds from an arbitrary origin, as {@link System#nanoTime}
     */
    @Experimental
    public long nanoTime() {
        return loop().context().nanoTime();
    }

    // ------------------------------------------------------------------ flushing

    /**
     * {@return whether much that is written at once should be flushed in parts} Then the peer works on the first part
     * while the next one is made. So it is while nothing comes for other channels of the event loop, and the loop
     * polls: otherwise another flush costs its system call for nothing. Event loop only.
     *
     * @throws IllegalStateException when another thread calls
     */
    @Experimental
    public boolean flushesInParts() {
        checkInEventLoop("flushesInParts");
        return loop().isBusyWithOnly(this);
    }

    // ------------------------------------------------------------------ life cycle

    @Override
    protected void doRegister() throws Exception {
        memory =
                new MessageRegistration(
                        loop().pool(), loop().context().capabilities().cheapRegistration());
        super.doRegister();
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
    MessageChannelProtocol newTraffic(QueuePair made) {
        traffic = new MessageChannelProtocol(this, memory, made);
        return traffic;
    }

    // ------------------------------------------------------------------ writing

    @Override
    protected Object filterOutboundMessage(Object message) throws Exception {
        if (message instanceof ByteBuf buffer) {
            if (!buffer.isReadable()) {
                buffer.release();
                return ChannelProtocol.NOTHING;
            }
            checkLength(buffer);
            return memory.sendable(buffer);
        }
        if (message instanceof RdmaSendWithInvalidate || message instanceof RdmaWrite) {
            ByteBufHolder holder = (ByteBufHolder) message;
            // Asked once: when it is copied it is released, and a holder does not show what
            // is released.
            ByteBuf content = holder.content();
            if (message instanceof RdmaSendWithInvalidate) {
                checkLength(content);
            }
            ByteBuf sendable = memory.sendable(content);
            return sendable == content ? message : holder.replace(sendable);
        }
        if (message instanceof RdmaRead read) {
            ByteBuf sink = read.content();
            if (!MessageRegistration.isInOnePiece(sink) || sink.isReadOnly()) {
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

    /** A Send that does not fit the peer's receive would cost the connection (RFC 8166, 3.3). */
    private void checkLength(ByteBuf buffer) throws MessageTooLongException {
        int limit = config.getMaxSendSize();
        if (buffer.readableBytes() > limit) {
            throw new MessageTooLongException(buffer.readableBytes(), limit);
        }
    }
}
