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
@Experimental
public final class RdmaStreamChannel extends AbstractRdmaConnection implements SocketChannel {

    private static final ChannelMetadata METADATA = new ChannelMetadata(false, 16);

    private static final String EXPECTED =
            " (expected: "
                    + StringUtil.simpleClassName(ByteBuf.class)
                    + ", "
                    + StringUtil.simpleClassName(FileRegion.class)
                    + ')';

    private final RdmaStreamChannelConfig config = new RdmaStreamChannelConfig(this);

    /** Of the queue pair, or of the last one when there is none. */
    private StreamChannelProtocol traffic;

    private volatile boolean inputShutdown;
    private volatile boolean outputShutdown;

    /** Of an end of the output that waits for what was flushed before it; {@code null} if there is none. */
    private ChannelPromise endOfOutput;

    /** A channel to connect. */
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
     * Lends registered memory, which the channel sends without a copy. Event loop only; the buffer may be released on
     * any thread.
     *
     * @param capacity in bytes; the buffer does not grow beyond it
     * @return a buffer with reader and writer index 0; the caller releases it
     * @throws IllegalStateException when there is no more memory to register, at once, or when another thread calls
     */
    public ByteBuf registeredBuffer(int capacity) {
        checkInEventLoop("registeredBuffer");
        return loop().pool().registered(capacity);
    }

    // ------------------------------------------------------------------ life cycle

    @Override
    QueuePairConfig queuePairConfig() {
        // No Read is ever posted, but a connection without any is not understood everywhere.
        return new QueuePairConfig(
                config.getSendDepth(), PostedStreamReceives.count(config.getReceiveDepth()), 1, 1);
    }

    @Override
    StreamChannelProtocol newTraffic(QueuePair made) {
        traffic = new StreamChannelProtocol(this, made);
        return traffic;
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

    /**
     * Tells the peer that no data follows, behind all that was flushed: the promise succeeds when that is done. What is
     * written from now on fails at once, and so does in the end what was written before and never flushed.
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
        if (isOutputShutdown()) {
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

    /** Ends the output if that is wanted and nothing that was flushed is left. */
    void outputMayEnd() {
        ChannelPromise promise = endOfOutput;
        if (promise == null) {
            return;
        }
        ChannelOutboundBuffer outbound = unsafe().outboundBuffer();
        if (outbound == null || outbound.current() == null) {
            endOfOutput = null;
            ((AbstractUnsafe) unsafe()).shutdownOutput(promise);
        }
    }

    /** Ends the output without waiting: nobody takes what is flushed, which fails. */
    void endOutputAtOnce() {
        ((AbstractUnsafe) unsafe()).shutdownOutput(newPromise());
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
        traffic.discardInput();
        becomeReady();
        promise.setSuccess();
    }

    /** The pipeline gets no more of what the peer sends. */
    void inputEnded() {
        inputShutdown = true;
    }

    @Override
    protected void doShutdownOutput() {
        if (!isActive()) {
            throw new NotYetConnectedException();
        }
        outputShutdown = true;
        traffic.endOutput();
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
            return ChannelProtocol.NOTHING;
        }
        if (message instanceof FileRegion) {
            return message;
        }
        throw new UnsupportedOperationException(
                "unsupported message type: " + StringUtil.simpleClassName(message) + EXPECTED);
    }
}
