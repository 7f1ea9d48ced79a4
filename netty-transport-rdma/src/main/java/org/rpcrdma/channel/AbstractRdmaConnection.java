// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelMetadata;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ConnectionPendingException;
import java.nio.channels.UnresolvedAddressException;
import java.util.concurrent.Executor;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.ReceiveMemory;
import org.rpcrdma.verbs.WorkStatus;

/**
 * The life of a connection: a queue pair that connects or is accepted, is active, and ends. What is sent and received
 * on it is the subclass's.
 */
abstract class AbstractRdmaConnection extends AbstractRdmaChannel {

    private static final ChannelMetadata METADATA = new ChannelMetadata(false, 16);

    private enum State {
        OPEN,
        /** The queue pair has its size, and what it is made from does not change any more. */
        CREATED,
        ACTIVE,
        CLOSED
    }

    private final ChannelQueuePair queuePair;
    private final ConnectionEnd end = new ConnectionEnd();
    private volatile State state = State.OPEN;
    private ConnectAttempt attempt;

    /** A channel to connect. */
    AbstractRdmaConnection() {
        this(null, null);
    }

    /** A channel that answers a request when it is registered. */
    AbstractRdmaConnection(Channel parent, ConnectionRequest request) {
        super(parent);
        queuePair = new ChannelQueuePair(request);
    }

    // ------------------------------------------------------------------ for the subclass

    /** The size of the queue pair that is about to be created. */
    abstract QueuePairConfig queuePairConfig();

    /** What is sent as connection private data, where the device carries any. */
    abstract byte[] privateData();

    /** What the peer is taken to have sent where the device carries no private data. */
    abstract byte[] assumedPrivateData();

    /** How long a close waits for posted work, in milliseconds. */
    abstract int drainMillis();

    /** The queue pair exists and is about to connect or to accept: receives are posted now. */
    abstract void created(QueuePair created);

    /**
     * The connection exists, and the channel is about to be active.
     *
     * @param peerData what the peer sent as private data
     * @throws IOException when the two ends do not understand each other: the connection is given up
     */
    void opened(byte[] peerData) throws IOException {
        // Nothing has to be agreed on.
    }

    /** The queue pair is gone: from here on nobody but us touches the memory. */
    abstract void freed();

    /** Memory for a message that begins to arrive, see {@link QueuePairHandler#receiveMemory}. */
    ReceiveMemory receiveMemory(long id, int length) {
        throw new UnsupportedOperationException("receive without memory: " + id);
    }

    /** A work request is complete, see {@link QueuePairHandler#completed}. */
    abstract void completed(long id, WorkStatus status, int length);

    /** Whether a close has to wait, for posted work as a rule. Called when there is a queue pair. */
    abstract boolean mustDrain();

    /** A close begins: what is to be said before the end is posted now. */
    void closing() {
        // Nothing is said.
    }

    /** Whether something has arrived that is not delivered. */
    abstract boolean hasInbound();

    /** Delivers what has arrived, as far as the pipeline wants to read. */
    abstract void deliverInbound();

    // ------------------------------------------------------------------ state

    @Override
    public final ChannelMetadata metadata() {
        return METADATA;
    }

    @Override
    public final boolean isOpen() {
        return state != State.CLOSED;
    }

    @Override
    public final boolean isActive() {
        return state == State.ACTIVE;
    }

    /**
     * Whether what a queue pair is made from, its depths and its private data, may still change: until the channel is
     * bound, connects or is accepted. Any thread.
     */
    public final boolean isConfigurable() {
        State now = state;
        return now != State.CREATED && now != State.ACTIVE;
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

    /** Whether the peer is gone, and nothing more arrives. */
    final boolean isDisconnected() {
        return end.isDisconnected();
    }

    /** Whether a close waits for posted work. */
    final boolean isClosing() {
        return end.isDraining();
    }

    /** Whether the channel becomes active by itself: it answers a request, or has. */
    private boolean isBeingAccepted() {
        return parent() != null && isOpen() && state != State.ACTIVE;
    }

    /** Closes the channel without waiting for posted work, past the pipeline. */
    final void closeAtOnce() {
        abandon();
        unsafe().close(voidPromise());
    }

    /** No close waits for posted work any more. */
    final void abandon() {
        end.abandon();
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

    private void accept() {
        state = State.CREATED;
        try {
            created(queuePair.ofRequest(loop().context(), queuePairConfig(), new Events()));
            queuePair.accept(privateData());
        } catch (Throwable t) {
            // Told in one line, for it may happen to each connection.
            loop().log().warn(this, "the connection is not accepted", t);
            closeAtOnce();
        }
    }

    @Override
    protected final void doBind(SocketAddress address) throws Exception {
        InetSocketAddress wanted = internet(address);
        if (queuePair.isThere()) {
            throw new AlreadyBoundException();
        }
        try {
            createToConnect();
            queuePair.bind(wanted);
        } catch (Throwable t) {
            free();
            state = State.OPEN;
            throw t;
        }
    }

    private void createToConnect() throws IOException {
        state = State.CREATED;
        created(queuePair.toConnect(loop().context(), queuePairConfig(), new Events()));
    }

    @Override
    protected final AbstractUnsafe newUnsafe() {
        return new ConnectionUnsafe();
    }

    private ConnectionUnsafe connectionUnsafe() {
        return (ConnectionUnsafe) unsafe();
    }

    private final class ConnectionUnsafe extends AbstractUnsafe {
        @Override
        public void connect(SocketAddress remote, SocketAddress local, ChannelPromise promise) {
            if (promise.isDone() || !ensureOpen(promise)) {
                return;
            }
            InetSocketAddress from;
            try {
                checkUnconnected();
                from = local == null ? null : internet(local);
                attempt = new ConnectAttempt(promise, resolved(remote));
            } catch (RuntimeException e) {
                promise.tryFailure(annotateConnectException(e, remote));
                closeIfClosed();
                return;
            }
            try {
                if (!queuePair.isThere()) {
                    createToConnect();
                }
                queuePair.connect(attempt.remote(), from, privateData());
            } catch (Throwable t) {
                // As when the peer refuses: a half-made queue pair is no use.
                failConnect(annotate(t));
                return;
            }
            attempt.limit(eventLoop(), config().getConnectTimeoutMillis(), this::failConnect);
            attempt.whenCancelled(() -> close(voidPromise()));
        }

        private void checkUnconnected() {
            if (attempt != null) {
                throw new ConnectionPendingException();
            }
            if (parent() != null || state == State.ACTIVE) {
                throw new AlreadyConnectedException();
            }
        }

        private static InetSocketAddress resolved(SocketAddress remote) {
            InetSocketAddress peer = internet(remote);
            if (peer.isUnresolved()) {
                throw new UnresolvedAddressException();
            }
            return peer;
        }

        void failConnect(Throwable cause) {
            ConnectAttempt failed = attempt;
            attempt = null;
            if (failed != null) {
                failed.fail(cause);
            }
            closeAtOnce();
        }

        Throwable annotate(Throwable cause) {
            return attempt == null ? cause : annotateConnectException(cause, attempt.remote());
        }

        @Override
        protected Executor prepareToClose() {
            boolean isAnswered = isBeingAccepted() && queuePair.isThere();
            if (end.isAbandoned() || (state != State.ACTIVE && !isAnswered)) {
                return null;
            }
            if (state == State.ACTIVE) {
                closing();
            }
            return mustDrain() ? end.draining(eventLoop(), drainMillis()) : null;
        }

        /** What is written to a channel that is not active yet, and has not to connect, waits until it is. */
        @Override
        protected void flush0() {
            if (!isBeingAccepted()) {
                super.flush0();
            }
        }

        void flushMore() {
            flush0();
        }
    }

    // ------------------------------------------------------------------ the end

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
        unsafe().close(voidPromise());
    }

    @Override
    protected final void doDisconnect() {
        doClose();
    }

    @Override
    protected final void doClose() {
        state = State.CLOSED;
        if (attempt != null) {
            attempt.fail(new ClosedChannelException());
            attempt = null;
        }
        free();
    }

    private void free() {
        if (queuePair.close()) {
            freed();
        }
    }

    @Override
    final void cut() {
        end.cut();
    }

    /** Posted work has completed: a close that waits for it goes on, or else what waits for room is posted. */
    final void workDone(boolean moreWaits) {
        if (end.isDraining()) {
            if (!mustDrain()) {
                cut();
            }
        } else if (moreWaits) {
            flushMore();
        }
    }

    /** Flushes once more what is flushed already. */
    final void flushMore() {
        connectionUnsafe().flushMore();
    }

    /** Fails what is flushed to a peer that is gone; returns whether it is. */
    final boolean failsForLackOfPeer(ChannelOutboundBuffer flushed) {
        return end.failsFlushed(flushed);
    }

    // ------------------------------------------------------------------ reading

    @Override
    protected final void doBeginRead() {
        super.doBeginRead();
        if (end.isDisconnected() || (queuePair.isThere() && hasInbound())) {
            becomeReady();
        }
    }

    @Override
    final void doDeliver() {
        if (queuePair.isRequested()) {
            accept();
        }
        if (mayDeliver() && isReadPending() && hasInbound()) {
            deliverInbound();
        }
        delivered();
    }

    /** Whether the pipeline may be given what has arrived: not once it has closed the channel. */
    final boolean mayDeliver() {
        return state == State.ACTIVE && !end.isDraining();
    }

    /** What has arrived is delivered, as far as the pipeline wants it. */
    void delivered() {
        if (!end.isDisconnected() || !isOpen()) {
            return;
        }
        if (hasInbound()) {
            // It stays until the pipeline has read that; what is written is told now.
            flushMore();
        } else {
            Throwable cause = endOfConnection(end.cause());
            if (cause != null) {
                pipeline().fireExceptionCaught(cause);
            }
            unsafe().close(voidPromise());
        }
    }

    /**
     * What the pipeline is told of the end of the connection.
     *
     * @param cause as the device has it, or {@code null}
     * @return the exception, or {@code null} if it ended as it should
     */
    Throwable endOfConnection(Throwable cause) {
        return cause;
    }

    // ------------------------------------------------------------------ events of the queue pair

    private final class Events implements QueuePairHandler {
        @Override
        public void connected(byte[] privateData) {
            if (!isOpen()) {
                return;
            }
            try {
                opened(queuePair.agreed(privateData, assumedPrivateData()));
            } catch (IOException | RuntimeException e) {
                connectFailed(e);
                return;
            }
            if (end.isDraining()) {
                closing();
                workDone(false);
                return;
            }
            queuePair.connected();
            state = State.ACTIVE;
            ConnectAttempt succeeded = attempt;
            attempt = null;
            boolean wanted = succeeded == null ? parent() != null : succeeded.succeed();
            pipeline().fireChannelActive();
            if (!wanted) {
                unsafe().close(voidPromise());
            } else if (isActive()) {
                connectionUnsafe().flushMore();
            }
        }

        @Override
        public void connectFailed(Throwable cause) {
            connectionUnsafe().failConnect(connectionUnsafe().annotate(cause));
        }

        @Override
        public void completed(long id, WorkStatus status, int length, int invalidatedKey) {
            AbstractRdmaConnection.this.completed(id, status, length);
        }

        @Override
        public ReceiveMemory receiveMemory(long id, int length) {
            return AbstractRdmaConnection.this.receiveMemory(id, length);
        }

        /** Receives are replaced when their messages are delivered. */
        @Override
        public boolean receivesFollow() {
            return mayDeliver() && isReadPending() && hasInbound();
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
