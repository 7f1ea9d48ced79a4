// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelMetadata;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.FileRegion;
import io.netty.channel.socket.SocketChannel;
import io.netty.util.internal.StringUtil;
import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetConnectedException;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.Experimental;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;

/**
 * An ordered byte stream over RDMA, with the semantics of Netty's socket channels. Speaks the protocol of librdmacm's
 * rsockets; the peer is another channel of this class or a program on rsockets.
 *
 * <p>Outbound messages are {@link ByteBuf}s of any kind and {@link FileRegion}s. Registered memory
 * ({@link #registeredBuffer}) and large direct buffers are sent without a copy, others are copied once. The promise of
 * a write succeeds when the device has completed the work requests. The receive buffers of the peer bound the bytes
 * sent, and a channel that does not read accepts at most {@code SO_RCVBUF} bytes.
 *
 * <p>{@link #close()} notifies the peer, and completes when all posted data have arrived and the peer has ended the
 * connection too, or after {@link RdmaChannelOption#DRAIN_MILLIS}. If a connection ends without the peer's DISCONNECT
 * message, an {@link IOException} follows the received data: the stream may be truncated.
 */
@Experimental
public final class RdmaStreamChannel extends AbstractConnectedRdmaChannel implements SocketChannel {

    private static final ChannelMetadata METADATA = new ChannelMetadata(false, 16);

    private static final String EXPECTED =
            " (expected: "
                    + StringUtil.simpleClassName(ByteBuf.class)
                    + ", "
                    + StringUtil.simpleClassName(FileRegion.class)
                    + ')';

    private final RdmaStreamChannelConfig config = new RdmaStreamChannelConfig(this);

    /** Protocol of the current queue pair, or of the last one. */
    private StreamChannelDataPath dataPath;

    private volatile boolean inputShutdown;
    private volatile boolean outputShutdown;

    /** Promise of an output shutdown that waits for earlier flushed data; {@code null} for none. */
    private ChannelPromise endOfOutput;

    /** A channel that connects. */
    public RdmaStreamChannel() {}

    RdmaStreamChannel(Channel parent, ConnectionRequest request) {
        super(parent, request);
    }

    @Override
    public ChannelMetadata metadata() {
        return METADATA;
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
     * Allocates registered memory, which the channel sends without a copy. Event loop only; the buffer may be released
     * on any thread.
     *
     * @param capacity in bytes; the buffer does not grow beyond it
     * @return a buffer with reader and writer index 0; the caller releases it
     * @throws IllegalStateException when there is no more memory to register, at once, or when another thread calls
     */
    public ByteBuf registeredBuffer(int capacity) {
        checkInEventLoop("registeredBuffer");
        return poller().pool.registered(capacity);
    }

    // ------------------------------------------------------------------ life cycle

    @Override
    QueuePairConfig queuePairConfig() {
        // No Read is ever posted, but some peers reject a connection with a read depth of 0.
        return new QueuePairConfig(
                config.getSendDepth(),
                StreamMessageReceiveRing.count(config.getReceiveDepth()),
                1,
                1);
    }

    @Override
    StreamChannelDataPath newDataPath(QueuePair made) {
        dataPath = new StreamChannelDataPath(this, made);
        return dataPath;
    }

    // ------------------------------------------------------------------ the end

    @Override
    int drainMillis() {
        int seconds = config.getSoLinger();
        return seconds < 0
                ? config.getDrainMillis()
                : (int) Math.min(Integer.MAX_VALUE, TimeUnit.SECONDS.toMillis(seconds));
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

    /** Discards all further data of the peer, without notifying the peer. */
    @Override
    public ChannelFuture shutdownInput(ChannelPromise promise) {
        inLoop(() -> shutdownInput0(promise));
        return promise;
    }

    @Override
    public ChannelFuture shutdownOutput() {
        return shutdownOutput(newPromise());
    }

    /**
     * Notifies the peer, after all flushed data, that no data follow; the promise succeeds when that has completed.
     * Later writes fail at once, and so do earlier writes that were not flushed.
     */
    @Override
    public ChannelFuture shutdownOutput(ChannelPromise promise) {
        inLoop(() -> shutdownOutput0(promise));
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

    private void shutdownOutput0(ChannelPromise promise) {
        if (!promise.setUncancellable()) {
            return;
        }
        if (isOutputShutdown() || isDisconnected()) {
            promise.setFailure(new ClosedChannelException());
        } else if (!isActive()) {
            promise.setFailure(new NotYetConnectedException());
        } else {
            outputShutdown = true;
            endOfOutput = promise;
            outputMayEnd();
            if (endOfOutput != null) {
                closeFuture()
                        .addListener(closed -> promise.tryFailure(new ClosedChannelException()));
            }
        }
    }

    /** Completes a requested output shutdown when no flushed data are left. */
    void outputMayEnd() {
        ChannelPromise promise = endOfOutput;
        if (promise == null) {
            return;
        }
        ChannelOutboundBuffer outbound = unsafe().outboundBuffer();
        if (outbound == null || outbound.current() == null) {
            endOfOutput = null;
            ownUnsafe().shutdownOutput(promise);
        }
    }

    /** Fails a requested output shutdown: a disconnected peer is not notified. */
    @Override
    void outputFailed() {
        ChannelPromise promise = endOfOutput;
        endOfOutput = null;
        if (promise != null) {
            promise.tryFailure(new ClosedChannelException());
        }
    }

    /** Shuts down the output at once and fails all flushed data, which the peer does not accept. */
    void endOutputAtOnce() {
        ownUnsafe().shutdownOutput(newPromise());
        outputMayEnd();
    }

    private void shutdownInput0(ChannelPromise promise) {
        if (!promise.setUncancellable()) {
            return;
        }
        if (!isActive()) {
            promise.setFailure(new NotYetConnectedException());
            return;
        }
        inputEnded();
        dataPath.discardInput();
        becomeReady();
        promise.setSuccess();
    }

    /** No more data are delivered to the pipeline. */
    void inputEnded() {
        inputShutdown = true;
    }

    @Override
    protected void doShutdownOutput() {
        if (!isActive()) {
            throw new NotYetConnectedException();
        }
        outputShutdown = true;
        dataPath.endOutput();
    }

    // ------------------------------------------------------------------ writing

    @Override
    protected Object filterOutboundMessage(Object message) throws ClosedChannelException {
        if (outputShutdown) {
            throw new ClosedChannelException();
        }
        if (message instanceof ByteBuf buffer) {
            if (buffer.isReadable()) {
                return buffer;
            }
            buffer.release();
            return AbstractChannelDataPath.NOTHING;
        }
        if (message instanceof FileRegion) {
            return message;
        }
        throw new UnsupportedOperationException(
                "unsupported message type: " + StringUtil.simpleClassName(message) + EXPECTED);
    }
}
