// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.Executor;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.ReceiveMemory;
import org.rpcrdma.verbs.WorkStatus;

/**
 * Base class of connected channels: implements Netty's operations and receives the events of a queue pair. {@link
 * ConnectionEstablishment} and {@link ConnectionTeardown} establish and tear down the connection, its {@link
 * ChannelProtocol} sends and receives.
 */
abstract class AbstractRdmaConnection extends AbstractRdmaChannel {

    private final ChannelQueuePair queuePair;
    private final ConnectionEstablishment start;
    private final ConnectionTeardown end = new ConnectionTeardown();

    /** Of the queue pair, or of the last one when there is none. */
    private ChannelProtocol<?> traffic;

    /** A channel to connect. */
    AbstractRdmaConnection() {
        this(null, null);
    }

    /** A channel that answers a request when it is registered. */
    AbstractRdmaConnection(Channel parent, ConnectionRequest request) {
        super(parent);
        queuePair = new ChannelQueuePair(request);
        start = new ConnectionEstablishment(this, queuePair);
    }

    // ------------------------------------------------------------------ for the subclass

    /** The size of the queue pair that is about to be created. */
    abstract QueuePairConfig queuePairConfig();

    /** What will be sent and received on a queue pair; it takes no memory before {@link ChannelProtocol#begin}. */
    abstract ChannelProtocol<?> newTraffic(QueuePair made);

    /** How long a close waits for posted work, in milliseconds. */
    abstract int drainMillis();

    // ------------------------------------------------------------------ state

    @Override
    public final boolean isOpen() {
        return queuePair.isOpen();
    }

    @Override
    public final boolean isActive() {
        return queuePair.isActive();
    }

    /**
     * Whether what a queue pair is made from, its depths and its private data, may still change: until the channel is
     * bound, connects or is accepted. Any thread.
     */
    public final boolean isConfigurable() {
        return queuePair.isConfigurable();
    }

    /** A queue pair keeps what it is made from. */
    final void checkConfigurable(ChannelOption<?> option) {
        if (!isConfigurable()) {
            throw new IllegalStateException(
                    "option "
                            + option
                            + " is fixed once the channel is bound or connects (set it in the"
                            + " bootstrap, or in the child's initChannel)");
        }
    }

    @Override
    public final InetSocketAddress localAddress() {
        return (InetSocketAddress) super.localAddress();
    }

    @Override
    public final InetSocketAddress remoteAddress() {
        return (InetSocketAddress) super.remoteAddress();
    }

    @Override
    protected final SocketAddress localAddress0() {
        return queuePair.localAddress();
    }

    @Override
    protected final SocketAddress remoteAddress0() {
        return queuePair.remoteAddress();
    }

    /** What the peer sent as connection private data, empty if nothing; {@code null} before the channel is active. */
    public final byte[] peerPrivateData() {
        return queuePair.peerPrivateData();
    }

    /** Whether there is a queue pair, connected or not. */
    final boolean hasQueuePair() {
        return queuePair.isThere();
    }

    /** Whether the peer is gone, and nothing more arrives. */
    final boolean isDisconnected() {
        return end.isDisconnected();
    }

    /** Whether a close waits for posted work. */
    final boolean isClosing() {
        return end.isDraining();
    }

    // ------------------------------------------------------------------ beginning

    @Override
    protected void doRegister() throws Exception {
        super.doRegister();
        if (queuePair.isRequested()) {
            // Once the pipeline was initialized, which may have set options.
            becomeReady();
        }
    }

    @Override
    protected final void doBind(SocketAddress address) throws Exception {
        start.bind(internet(address));
    }

    /** There is a queue pair: what it is for begins with it. */
    final void begin(QueuePair made) {
        traffic = newTraffic(made);
        traffic.begin();
    }

    final ChannelProtocol<?> traffic() {
        return traffic;
    }

    /** Where a queue pair reports to. */
    final QueuePairHandler events() {
        return new Events();
    }

    @Override
    protected final AbstractUnsafe newUnsafe() {
        return new ConnectionUnsafe();
    }

    private final class ConnectionUnsafe extends AbstractUnsafe {
        @Override
        public void connect(SocketAddress remote, SocketAddress local, ChannelPromise promise) {
            if (!promise.isDone() && ensureOpen(promise)) {
                start.connect(remote, local, promise);
            }
        }

        Throwable annotated(Throwable cause, SocketAddress remote) {
            return annotateConnectException(cause, remote);
        }

        @Override
        protected Executor prepareToClose() {
            boolean isAnswered = start.isByRequest() && queuePair.isThere();
            if (end.isAbandoned() || !(isActive() || isAnswered)) {
                return null;
            }
            if (isActive()) {
                traffic.closing();
            }
            return traffic.mustDrain() ? end.draining(eventLoop(), drainMillis()) : null;
        }

        /** What is written to a channel that is not active yet, and has not to connect, waits until it is. */
        @Override
        protected void flush0() {
            if (!start.isByRequest()) {
                super.flush0();
            }
        }

        void flushMore() {
            flush0();
        }
    }

    /** The cause of a connect that has failed, with the peer's address. */
    final Throwable annotated(Throwable cause, SocketAddress remote) {
        return ((ConnectionUnsafe) unsafe()).annotated(cause, remote);
    }

    // ------------------------------------------------------------------ the end

    /** No close waits for posted work any more. */
    final void abandon() {
        end.abandon();
    }

    /** Closes the channel without waiting for posted work, past the pipeline. */
    final void closeAtOnce() {
        abandon();
        unsafe().close(voidPromise());
    }

    @Override
    protected void doDeregister() throws Exception {
        super.doDeregister();
        if (!isOpen() || !(queuePair.isThere() || queuePair.isRequested())) {
            return;
        }
        // A queue pair belongs to its event loop's completion queue: it cannot move. Netty tells a
        // handler of the end only while the channel is registered, so it is told here.
        boolean wasActive = isActive();
        doClose();
        cut();
        unsafe().close(voidPromise());
        if (wasActive) {
            pipeline().fireChannelInactive();
        }
    }

    /** There is no half-close: a channel that cannot send ends. */
    @Override
    protected void doShutdownOutput() {
        if (queuePair.isThere()) {
            traffic.outputEnds();
        }
        unsafe().close(voidPromise());
    }

    @Override
    protected final void doDisconnect() {
        doClose();
    }

    @Override
    protected final void doClose() {
        queuePair.closed();
        start.end(new ClosedChannelException());
        free();
    }

    /** Gives the queue pair back, if there is one, and then its memory. */
    final void free() {
        if (queuePair.free()) {
            traffic.freed();
        }
    }

    @Override
    final void cut() {
        end.cut();
    }

    // ------------------------------------------------------------------ writing

    @Override
    protected final void doWrite(ChannelOutboundBuffer in) throws Exception {
        if (end.isDisconnected()) {
            traffic.outputEnds();
            end.failFlushed(in);
            return;
        }
        try {
            traffic.post(in);
        } catch (RuntimeException e) {
            // What is half posted cannot be taken back: the channel closes, as after any failed
            // write, and does not wait for it.
            abandon();
            throw new IOException("posting failed: " + e.getMessage(), e);
        }
    }

    /** Posted work has completed: a close that waits for it goes on, or else what waits for room is posted. */
    final void workDone(boolean moreWaits) {
        if (end.isDraining()) {
            if (!traffic.mustDrain()) {
                cut();
            }
        } else if (moreWaits) {
            flushMore();
        }
    }

    /** Flushes once more what is flushed already. */
    final void flushMore() {
        ((ConnectionUnsafe) unsafe()).flushMore();
    }

    // ------------------------------------------------------------------ reading

    @Override
    protected final void doBeginRead() {
        super.doBeginRead();
        if (end.isDisconnected() || (queuePair.isThere() && traffic.hasInbound())) {
            becomeReady();
        }
    }

    @Override
    final void doDeliver() {
        if (queuePair.isRequested()) {
            start.accept();
        }
        if (mayDeliver() && isReadPending() && traffic.hasInbound()) {
            traffic.deliver();
        }
        if (mayDeliver()) {
            traffic.delivered();
        }
        if (end.isDisconnected() && isOpen()) {
            endDelivery();
        }
    }

    /** Whether the pipeline may be given what has arrived: not once it has closed the channel. */
    final boolean mayDeliver() {
        return isActive() && !end.isDraining();
    }

    /** The channel of a peer that is gone stays until the pipeline has read what has arrived. */
    private void endDelivery() {
        if (traffic.hasInbound()) {
            // What is written meanwhile is told now.
            flushMore();
            return;
        }
        Throwable cause = traffic.endOfConnection(end.cause());
        if (cause != null) {
            pipeline().fireExceptionCaught(cause);
        }
        unsafe().close(voidPromise());
    }

    // ------------------------------------------------------------------ events of the queue pair

    private final class Events implements QueuePairHandler {
        @Override
        public void connected(byte[] privateData) {
            start.connected(privateData);
        }

        @Override
        public void connectFailed(Throwable cause) {
            start.failed(cause);
        }

        @Override
        public void completed(long id, WorkStatus status, int length, int invalidatedKey) {
            traffic.completed(id, status, length);
        }

        @Override
        public boolean writtenWithImmediate(long id, int length, int immediate) {
            return traffic.writtenWithImmediate(id, length, immediate);
        }

        @Override
        public ReceiveMemory receiveMemory(long id, int length) {
            return traffic.receiveMemory(id, length);
        }

        @Override
        public ReceiveMemory writeMemory(int key, int start, int length) {
            return traffic.writeMemory(key, start, length);
        }

        /** Receives are replaced when their messages are delivered. */
        @Override
        public boolean receivesFollow() {
            return mayDeliver() && isReadPending() && traffic.hasInbound();
        }

        @Override
        public void disconnected(Throwable cause) {
            end.disconnected(cause);
            if (end.isDraining()) {
                cut();
            } else {
                becomeReady();
            }
        }
    }
}
