// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.channel.FileRegion;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.ChannelInputShutdownReadComplete;
import io.netty.channel.socket.DuplexChannel;
import io.netty.util.concurrent.Future;
import io.netty.util.internal.StringUtil;
import java.io.IOException;
import java.nio.channels.NotYetConnectedException;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.stream.ConnectionData;
import org.rpcrdma.stream.StreamEnds;
import org.rpcrdma.stream.StreamMessage;
import org.rpcrdma.stream.StreamProtocolException;
import org.rpcrdma.stream.TargetTable;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.WorkStatus;

/**
 * An ordered stream of bytes over RDMA, like a TCP connection: what works on Netty's socket channels works on this one.
 * Its peer is another of its kind or a program on librdmacm's rsockets, whose protocol it speaks.
 *
 * <p>Outbound messages are {@link ByteBuf}s of any kind and {@link FileRegion}s. Registered memory
 * ({@link #registeredBuffer}) and large direct buffers are sent from where they are, the rest is copied once. The
 * promise of a write succeeds when the device is done with the memory. The peer is never sent more than it has room
 * for, and a channel that does not read lets its peer send no more than {@code SO_RCVBUF} bytes.
 *
 * <p>{@link #close()} tells the peer, and completes when all that was posted has arrived and the peer has ended the
 * connection too, or after {@link RdmaChannelOption#DRAIN_MILLIS}. A connection that ends without a word of the peer is
 * reported as an {@link IOException}, after what has arrived: the stream may be cut short.
 */
public final class RdmaStreamChannel extends AbstractRdmaConnection implements DuplexChannel {

    private static final byte[] NO_DATA = {};

    private static final String EXPECTED =
            " (expected: "
                    + StringUtil.simpleClassName(ByteBuf.class)
                    + ", "
                    + StringUtil.simpleClassName(FileRegion.class)
                    + ')';

    private final RdmaStreamChannelConfig config = new RdmaStreamChannelConfig(this);
    private final StreamEnds ends = new StreamEnds();

    private QueuePair queuePair;
    private Exposures exposures;
    private StreamReceives receives;
    private StreamInput input;
    private StreamOutput output;

    /** Memory and key of the target SGL. */
    private RegisteredMemory table;

    private int tableKey;
    private Future<?> keepAlive;

    private volatile boolean inputShutdown;
    private volatile boolean outputShutdown;

    /** Whether the pipeline was told that the peer sends no more. */
    private boolean inputEndTold;

    /** A channel to connect. */
    public RdmaStreamChannel() {}

    RdmaStreamChannel(Channel parent, ConnectionRequest request) {
        super(parent, request);
    }

    @Override
    public RdmaStreamChannelConfig config() {
        return config;
    }

    @Override
    public RdmaServerStreamChannel parent() {
        return (RdmaServerStreamChannel) super.parent();
    }

    /**
     * A buffer of registered memory with reader and writer index 0, which the channel sends without a copy. Event loop
     * only; it may be released on any thread.
     *
     * @param capacity in bytes; the buffer does not grow beyond it
     * @throws IllegalStateException when there is no more memory to register, at once, or when another thread calls
     */
    public ByteBuf registeredBuffer(int capacity) {
        checkInEventLoop("registeredBuffer");
        return loop().pool().registered(capacity);
    }

    // ------------------------------------------------------------------ life cycle

    /** Connection private data is all of the handshake: without it there is no stream. */
    static void checkDevice(DeviceCapabilities device, boolean accepts) {
        if (device.maxPrivateData() < ConnectionData.BYTES
                || (accepts && !device.privateDataOnAccept())) {
            throw new UnsupportedOperationException(
                    "a byte stream needs "
                            + ConnectionData.BYTES
                            + " bytes of connection private data in both directions, which this"
                            + " RDMA provider does not carry; use another one"
                            + " (-Dorg.rpcrdma.provider=iwarp)");
        }
    }

    @Override
    QueuePairConfig queuePairConfig() {
        // No Read is ever posted, but a connection without any is not understood everywhere.
        return new QueuePairConfig(
                config.getSendDepth(), StreamReceives.count(config.getReceiveDepth()), 1, 1);
    }

    @Override
    void created(QueuePair created) {
        DeviceCapabilities device = loop().context().capabilities();
        checkDevice(device, parent() != null);
        RegisteredBufferPool pool = loop().pool();
        MessageMemory memory = new MessageMemory(pool, device.cheapRegistration());
        queuePair = created;
        exposures = new Exposures(created, memory, device.exactExposure());
        table = pool.take(TargetTable.BYTES);
        tableKey =
                exposures.expose(
                        table.buffer(),
                        0,
                        TargetTable.BYTES,
                        RemoteAccess.WRITE,
                        RegistrationPolicy.EXACT);
        output =
                new StreamOutput(
                        created,
                        memory,
                        pool,
                        config.getSendDepth(),
                        config.getSendBufferSize(),
                        table.buffer());
        input =
                new StreamInput(
                        pool,
                        exposures,
                        config.getReceiveBufferSize() / 2,
                        config.getReceiveDepth());
        receives = new StreamReceives(created, pool, config.getReceiveDepth());
    }

    @Override
    byte[] privateData() {
        return new ConnectionData(
                        config.getReceiveDepth(),
                        exposures.offset(tableKey),
                        tableKey,
                        TargetTable.ENTRIES,
                        input.entry())
                .encode();
    }

    @Override
    byte[] assumedPrivateData() {
        return NO_DATA;
    }

    @Override
    void opened(byte[] peerData) throws IOException {
        ConnectionData peer = ConnectionData.decode(peerData);
        output.open(peer);
        input.open(peer);
        replenish();
        if (config.isKeepAlive()) {
            int seconds = config.getKeepAliveSeconds();
            keepAlive =
                    eventLoop()
                            .scheduleAtFixedRate(
                                    output::keepAlive, seconds, seconds, TimeUnit.SECONDS);
        }
    }

    @Override
    void freed() {
        if (keepAlive != null) {
            keepAlive.cancel(false);
            keepAlive = null;
        }
        if (receives != null) {
            receives.release();
            receives = null;
        }
        if (input != null) {
            input.release();
            input = null;
        }
        if (output != null) {
            output.release();
            output = null;
        }
        if (exposures != null) {
            exposures.clear();
            exposures = null;
        }
        if (table != null) {
            table.buffer().release();
            table = null;
        }
        queuePair = null;
    }

    // ------------------------------------------------------------------ the end

    @Override
    int drainMillis() {
        int seconds = config.getSoLinger();
        return seconds < 0
                ? config.getDrainMillis()
                : (int) Math.min(Integer.MAX_VALUE, TimeUnit.SECONDS.toMillis(seconds));
    }

    /** The peer is told, behind all data that was posted; what it still sends is taken and forgotten. */
    @Override
    void closing() {
        if (!mustDrain()) {
            return;
        }
        input.discard();
        if (ends.owesDisconnect()) {
            // Over iWARP it may have to wait for the first message of the initiator (RFC 5044,
            // 7.1.2); what ends the connection must not overtake it.
            ends.disconnectSent();
            output.end(StreamMessage.DISCONNECT);
        } else {
            queuePair.disconnect();
        }
    }

    @Override
    boolean mustDrain() {
        return !isDisconnected() && config.getSoLinger() != 0;
    }

    @Override
    Throwable endOfConnection(Throwable cause) {
        return ends.isOrderly()
                ? null
                : new IOException(
                        "connection reset by peer: it ended without a DISCONNECT message", cause);
    }

    private void fail(Exception cause) {
        if (isClosing()) {
            cut();
        } else {
            abandon();
            pipeline().fireExceptionCaught(cause);
            closeAtOnce();
        }
    }

    @Override
    public boolean isInputShutdown() {
        return inputShutdown || !isOpen();
    }

    @Override
    public boolean isOutputShutdown() {
        return outputShutdown || !isOpen();
    }

    @Override
    public boolean isShutdown() {
        return isInputShutdown() && isOutputShutdown();
    }

    @Override
    public ChannelFuture shutdownInput() {
        return shutdownInput(newPromise());
    }

    /** What the peer sends from now on is taken and forgotten; the peer is not told. */
    @Override
    public ChannelFuture shutdownInput(ChannelPromise promise) {
        inLoop(() -> shutdownInput0(promise));
        return promise;
    }

    @Override
    public ChannelFuture shutdownOutput() {
        return shutdownOutput(newPromise());
    }

    /** Tells the peer that no data follows what was posted. What is not posted yet fails. */
    @Override
    public ChannelFuture shutdownOutput(ChannelPromise promise) {
        inLoop(() -> ((AbstractUnsafe) unsafe()).shutdownOutput(promise));
        return promise;
    }

    @Override
    public ChannelFuture shutdown() {
        return shutdown(newPromise());
    }

    @Override
    public ChannelFuture shutdown(ChannelPromise promise) {
        shutdownOutput()
                .addListener(
                        output ->
                                shutdownInput()
                                        .addListener(
                                                input -> {
                                                    if (!output.isSuccess()) {
                                                        promise.setFailure(output.cause());
                                                    } else if (!input.isSuccess()) {
                                                        promise.setFailure(input.cause());
                                                    } else {
                                                        promise.setSuccess();
                                                    }
                                                }));
        return promise;
    }

    private void inLoop(Runnable action) {
        if (eventLoop().inEventLoop()) {
            action.run();
        } else {
            eventLoop().execute(action);
        }
    }

    private void shutdownInput0(ChannelPromise promise) {
        if (!promise.setUncancellable()) {
            return;
        }
        if (!isActive()) {
            promise.setFailure(new NotYetConnectedException());
            return;
        }
        inputShutdown = true;
        input.discard();
        becomeReady();
        promise.setSuccess();
    }

    @Override
    protected void doShutdownOutput() {
        if (!isActive()) {
            throw new NotYetConnectedException();
        }
        outputShutdown = true;
        if (!ends.isOutputOver()) {
            ends.shutdownSent();
            output.end(StreamMessage.SHUTDOWN);
        }
    }

    // ------------------------------------------------------------------ what completes

    @Override
    void completed(long id, WorkStatus status, int length) {
        if (status != WorkStatus.SUCCESS) {
            // The connection is over, which is reported next.
            return;
        }
        try {
            if (StreamOutput.isReceive(id)) {
                received(length);
            } else {
                output.completed(id, unsafe().outboundBuffer());
                if (!isOpen()) {
                    // The listener of a write has closed the channel.
                    return;
                }
                if (output.isOver()) {
                    queuePair.disconnect();
                }
                workDone(output.isBlocked());
            }
        } catch (StreamProtocolException | RuntimeException e) {
            fail(e);
            return;
        }
        if (isActive() && input.wantsReplenishing()) {
            becomeReady();
        }
    }

    private void received(int length) throws StreamProtocolException {
        if (length != StreamMessage.BYTES) {
            throw new StreamProtocolException(
                    "The peer sent a message of "
                            + length
                            + " bytes, expected "
                            + StreamMessage.BYTES);
        }
        int message = receives.take();
        switch (StreamMessage.kind(message)) {
            case DATA -> dataReceived(StreamMessage.value(message));
            case SGL -> {
                output.update(StreamMessage.value(message));
                workDone(output.isBlocked());
            }
            case IOMAP -> input.creditUsed();
            case SHUTDOWN -> {
                ends.shutdownReceived();
                becomeReady();
            }
            case DISCONNECT -> {
                ends.disconnectReceived();
                disconnect0();
            }
            case RESERVED ->
                    throw new StreamProtocolException(
                            "The peer sent a message of a reserved kind: "
                                    + StreamMessage.toString(message));
            default -> {
                // A later version may know what it means.
            }
        }
    }

    private void dataReceived(int bytes) throws StreamProtocolException {
        ends.dataReceived();
        input.creditUsed();
        input.received(bytes);
        if (inputShutdown || isClosing()) {
            input.discard();
        } else if (isReadPending()) {
            becomeReady();
        }
    }

    /** Both directions are over: what has arrived is delivered, and nothing can be sent any more. */
    private void disconnect0() {
        if (!isClosing()) {
            queuePair.disconnect();
            ((AbstractUnsafe) unsafe()).shutdownOutput(newPromise());
            becomeReady();
        }
    }

    /**
     * Publishes buffers and grants credits. What the peer can never use is not sent: it may end the
     * connection meanwhile.
     */
    private void replenish() {
        if (!ends.isInputOver() && !isDisconnected()) {
            input.replenish(output);
            output.doorbell();
        }
    }

    // ------------------------------------------------------------------ reading

    @Override
    boolean hasInbound() {
        return input != null && !isClosing() && !inputShutdown && input.isReadable();
    }

    @Override
    void deliverInbound() {
        ChannelPipeline pipeline = pipeline();
        var handle = unsafe().recvBufAllocHandle();
        handle.reset(config);
        do {
            int wanted = handle.guess();
            ByteBuf bytes = input.read(wanted, config.getAllocator());
            handle.attemptedBytesRead(Math.max(wanted, bytes.readableBytes()));
            handle.lastBytesRead(bytes.readableBytes());
            readBegins();
            handle.incMessagesRead(1);
            pipeline.fireChannelRead(bytes);
        } while (isActive()
                && !isClosing()
                && !inputShutdown
                && input.isReadable()
                && handle.continueReading());
        handle.readComplete();
        pipeline.fireChannelReadComplete();
    }

    @Override
    void delivered() {
        if (isActive() && !isClosing()) {
            replenish();
            if (ends.isInputOver() && !inputEndTold && (inputShutdown || !input.isReadable())) {
                tellInputEnd();
            }
        }
        super.delivered();
    }

    /**
     * All that the peer has sent is delivered. Nothing else will come, so the pipeline is told whether it reads or not.
     */
    private void tellInputEnd() {
        inputEndTold = true;
        if (!inputShutdown) {
            if (!config.isAllowHalfClosure()) {
                unsafe().close(voidPromise());
                return;
            }
            inputShutdown = true;
            pipeline().fireUserEventTriggered(ChannelInputShutdownEvent.INSTANCE);
        }
        pipeline().fireUserEventTriggered(ChannelInputShutdownReadComplete.INSTANCE);
        if (ends.isDisconnected()) {
            unsafe().close(voidPromise());
        }
    }

    // ------------------------------------------------------------------ writing

    @Override
    protected Object filterOutboundMessage(Object message) {
        if (message instanceof ByteBuf buffer) {
            if (buffer.isReadable()) {
                return buffer;
            }
            buffer.release();
            return StreamOutput.NOTHING;
        }
        if (message instanceof FileRegion) {
            return message;
        }
        throw new UnsupportedOperationException(
                "unsupported message type: " + StringUtil.simpleClassName(message) + EXPECTED);
    }

    @Override
    protected void doWrite(ChannelOutboundBuffer in) throws Exception {
        if (failsForLackOfPeer(in)) {
            return;
        }
        try {
            output.post(in);
        } catch (RuntimeException e) {
            // What is half posted cannot be taken back: the channel closes, as after any failed
            // write, and does not wait for it.
            abandon();
            throw new IOException("posting failed: " + e.getMessage(), e);
        }
    }
}
