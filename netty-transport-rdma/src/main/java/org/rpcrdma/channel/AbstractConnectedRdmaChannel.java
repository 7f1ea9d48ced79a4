// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.Executor;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.QueuePairHandler;

/**
 * Base class of connected channels: implements Netty's operations and receives the events of a queue pair. {@link
 * ConnectionEstablishment} and {@link ConnectionEndState} establish and tear down the connection, its {@link
 * AbstractChannelDataPath} sends and receives.
 */
abstract class AbstractConnectedRdmaChannel extends AbstractRdmaChannel {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(AbstractConnectedRdmaChannel.class);

    private final ChannelQueuePairLifecycle queuePair;
    private final ConnectionEstablishment start;
    final ConnectionEndState end = new ConnectionEndState();

    /** Data path of the current queue pair, or of the last one. */
    AbstractChannelDataPath<?> path;

    /** Told once of the end of an accepted connection; {@code null} for nobody. */
    private Runnable endListener;

    /** A channel that connects. */
    AbstractConnectedRdmaChannel() {
        this(null, null);
    }

    /** A channel that answers a request when it is registered. */
    AbstractConnectedRdmaChannel(Channel parent, ConnectionRequest request) {
        super(parent);
        queuePair = new ChannelQueuePairLifecycle(request);
        start = new ConnectionEstablishment(this, queuePair);
    }

    // ------------------------------------------------------------------ for the subclass

    /** Sizes of the queue pair to create. */
    abstract QueuePairConfig queuePairConfig();

    /** Creates the data path of a queue pair, which takes no memory before {@link AbstractChannelDataPath#begin}. */
    abstract AbstractChannelDataPath<?> newDataPath(QueuePair made);

    // ------------------------------------------------------------------ state

    @Override
    public final boolean isOpen() {
        return queuePair.isOpen();
    }

    @Override
    public final boolean isActive() {
        return queuePair.state == ChannelQueuePairLifecycle.State.ACTIVE;
    }

    /**
     * Whether the settings of the queue pair, depths and private data, may still change: until the channel is bound,
     * connects or is accepted. Any thread.
     */
    public final boolean isConfigurable() {
        return queuePair.isConfigurable();
    }

    @Override
    final void trafficClassChanged() {
        if (isRegistered()) {
            eventLoop().execute(start::applyTrafficClass);
        }
    }

    /** Rejects changes of settings that the existing queue pair was created with. */
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

    /** Whether the peer has ended the connection, so that no more data arrive. */
    final boolean isDisconnected() {
        return end.disconnected;
    }

    /** Whether a close waits for posted work. */
    final boolean isClosing() {
        return end.draining != null;
    }

    // ------------------------------------------------------------------ beginning

    @Override
    protected void doRegister() throws Exception {
        super.doRegister();
        if (queuePair.isRequested()) {
            // After initialization of the pipeline, which may have set options.
            becomeReady();
        }
    }

    @Override
    protected final void doBind(SocketAddress address) throws Exception {
        start.bind(internet(address));
    }

    /** Starts the data path of a new queue pair. */
    final void begin(QueuePair made) {
        path = null; // that of a queue pair before it, when the heap is exhausted now
        path = newDataPath(made);
        path.begin();
    }

    final AbstractChannelDataPath<?> dataPath() {
        return path;
    }

    /** The handler of the queue pair's events. */
    final QueuePairHandler events() {
        return new QueuePairEventHandler(this, start, end);
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
            boolean isLeft = tryLeaveOutput();
            boolean isAnswered = start.isByRequest() && queuePair.isThere();
            if (!isLeft || end.isAbandoned() || !(isActive() || isAnswered)) {
                return null;
            }
            if (isActive() && !tryEndOutput()) {
                return null;
            }
            return path.mustDrain() ? end.draining(eventLoop(), drainMillis()) : null;
        }

        /** Returns whether Netty has all messages now. Without heap it has not, and the close waits for none. */
        private boolean tryLeaveOutput() {
            try {
                outputCloses();
                return true;
            } catch (RuntimeException | Error e) {
                LOGGER.debug("{} is closed at once", AbstractConnectedRdmaChannel.this, e);
                abandon();
                return false;
            }
        }

        /** Returns whether the device took the last message. Without it the close has nothing to wait for. */
        private boolean tryEndOutput() {
            try {
                path.closing();
                return true;
            } catch (RuntimeException | Error e) {
                // Netty would leave a channel half closed whose close has thrown.
                LOGGER.debug(
                        "{} is closed at once: its last message was refused",
                        AbstractConnectedRdmaChannel.this,
                        e);
                abandon();
                return false;
            }
        }

        /** Writes to an accepted channel wait until it is active. */
        @Override
        protected void flush0() {
            if (isActive() || !start.isByRequest()) {
                postUnbuffered(true);
                super.flush0();
            }
        }

        void flushMore() {
            if (isActive() || !start.isByRequest()) {
                postUnbuffered(false);
                super.flush0();
            }
        }
    }

    /** The cause of a connect that has failed, with the peer's address. */
    final Throwable annotated(Throwable cause, SocketAddress remote) {
        return ((ConnectionUnsafe) ownUnsafe()).annotated(cause, remote);
    }

    // ------------------------------------------------------------------ the end

    /** From now on a close does not wait for posted work. */
    final void abandon() {
        end.abandon();
    }

    /** Closes the channel without waiting for posted work, bypassing the pipeline. Ends a wait that has begun. */
    final void closeAtOnce() {
        abandon();
        cut();
        unsafe().close(voidPromise());
    }

    @Override
    protected void doDeregister() throws Exception {
        super.doDeregister();
        if (!isOpen() || !(queuePair.isThere() || queuePair.isRequested())) {
            return;
        }
        // A queue pair belongs to its event loop's completion queue and cannot move. Netty fires
        // channelInactive only while the channel is registered, so the channel is closed here.
        boolean wasActive = isActive();
        doClose();
        cut();
        unsafe().close(voidPromise());
        if (wasActive) {
            pipeline().fireChannelInactive();
        }
    }

    /** No half-close: shutting down the output closes the channel. */
    @Override
    protected void doShutdownOutput() {
        outputCloses();
        if (queuePair.isThere()) {
            path.outputEnds();
        }
        unsafe().close(voidPromise());
    }

    @Override
    protected final void doDisconnect() {
        doClose();
    }

    private void outputCloses() {
        if (path != null) {
            path.outputCloses();
        }
    }

    @Override
    protected final void doClose() {
        Runnable listener = endListener;
        endListener = null;
        try {
            outputCloses();
        } finally {
            try {
                queuePair.closed();
                start.end(new ClosedChannelException());
                free();
            } finally {
                if (listener != null) {
                    listener.run(); // it has counted this connection
                }
            }
        }
    }

    /**
     * Sets who is told of the end, before the channel is passed to the pipeline: {@link #closeFuture} does not complete
     * for a channel that was never registered.
     */
    final void whenEnded(Runnable listener) {
        endListener = listener;
    }

    /** Releases the queue pair, if any, then its memory. */
    final void free() {
        if (queuePair.releaseQueuePair() && path != null) {
            path.freed();
        }
    }

    @Override
    final void cut() {
        end.cut();
    }

    // ------------------------------------------------------------------ writing

    @Override
    protected final void doWrite(ChannelOutboundBuffer in) throws Exception {
        if (end.disconnected) {
            path.outputEnds();
            end.failFlushed(in);
            return;
        }
        try {
            path.post(in);
        } catch (RuntimeException | Error e) {
            // A partly posted message cannot be revoked: the channel closes, as after any failed
            // write, without waiting for the message. A listener may have begun to close it.
            abandon();
            cut();
            throw new IOException("posting failed: " + e.getMessage(), e);
        }
    }

    private void postUnbuffered(boolean isFlush) {
        if (path != null) {
            path.postUnbuffered(isFlush, isActive() && !end.disconnected);
        }
    }

    /** Posted work has completed: continues a waiting close, or posts messages that wait for room in the send queue. */
    final void workDone(boolean moreWaits) {
        if (end.draining != null) {
            if (!path.mustDrain()) {
                cut();
            }
        } else if (moreWaits) {
            flushMore();
        }
    }

    /** Posts messages that are already flushed. */
    final void flushMore() {
        ((ConnectionUnsafe) ownUnsafe()).flushMore();
    }

    // ------------------------------------------------------------------ reading

    @Override
    protected final void doBeginRead() {
        super.doBeginRead();
        if (end.disconnected || (queuePair.isThere() && path.hasInbound())) {
            becomeReady();
        }
    }

    @Override
    final void doDeliver() {
        if (!isActive() && queuePair.isRequested()) {
            start.accept();
        }
        if (mayDeliver() && readPending && path.hasInbound()) {
            path.deliver();
        }
        if (mayDeliver()) {
            path.delivered();
        }
        if (end.disconnected && isOpen()) {
            endDelivery();
        }
    }

    /** Whether inbound data may be delivered: not after the pipeline has closed the channel. */
    final boolean mayDeliver() {
        return isActive() && end.draining == null;
    }

    /** All flushed messages to a disconnected peer have failed; the channel stays open for its inbound data. */
    void outputFailed() {
        // Nothing else waits.
    }

    /** Closes the channel of a disconnected peer after the pipeline has read all inbound data. */
    private void endDelivery() {
        if (path.hasInbound()) {
            // Fails messages written meanwhile.
            flushMore();
            outputFailed();
            return;
        }
        Throwable cause = path.endOfConnection(end.cause());
        if (cause != null) {
            pipeline().fireExceptionCaught(cause);
        }
        unsafe().close(voidPromise());
    }
}
