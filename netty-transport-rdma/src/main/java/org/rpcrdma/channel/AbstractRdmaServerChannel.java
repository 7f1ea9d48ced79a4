// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelMetadata;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultChannelPipeline;
import io.netty.channel.ServerChannel;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.AlreadyBoundException;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.Listener;
import org.rpcrdma.verbs.ListenerHandler;

/** Server channel: passes each connection request to the pipeline as a child channel. */
abstract class AbstractRdmaServerChannel extends AbstractRdmaChannel implements ServerChannel {

    private static final ChannelMetadata METADATA = new ChannelMetadata(false, 16);

    private final RdmaServerChannelConfig config = new RdmaServerChannelConfig(this);
    private final ConnectionAdmissionQueue admission =
            new ConnectionAdmissionQueue(
                    this, config, this::eventLoop, this::poller, this::admissionChanged);
    private Listener listener;
    private volatile InetSocketAddress localAddress;
    private volatile boolean closed;

    /** Child that is being passed to the pipeline. */
    private Channel given;

    AbstractRdmaServerChannel() {
        super(null);
    }

    /** The channel that answers a request, or {@code null} when it was rejected at once. */
    abstract AbstractConnectedRdmaChannel child(ConnectionRequest request);

    @Override
    public final RdmaServerChannelConfig config() {
        return config;
    }

    @Override
    public final ChannelMetadata metadata() {
        return METADATA;
    }

    @Override
    public final boolean isOpen() {
        return !closed;
    }

    @Override
    public final boolean isActive() {
        return !closed && localAddress != null;
    }

    @Override
    public final InetSocketAddress localAddress() {
        return (InetSocketAddress) super.localAddress();
    }

    /** {@code null}: a server channel has no peer. */
    @Override
    public final InetSocketAddress remoteAddress() {
        return null;
    }

    @Override
    protected InetSocketAddress localAddress0() {
        return localAddress;
    }

    @Override
    protected SocketAddress remoteAddress0() {
        return null;
    }

    @Override
    protected void doBind(SocketAddress address) throws Exception {
        InetSocketAddress wanted = internet(address);
        if (localAddress != null) {
            throw new AlreadyBoundException();
        }
        listen(wanted);
    }

    private void listen(InetSocketAddress address) throws IOException {
        try {
            listener = poller().context().listen(address, config.getBacklog(), new Requests());
        } catch (BindException e) {
            throw BindExceptionMessages.explained("listen at", address, e);
        }
        localAddress = listener.localAddress();
    }

    /** A bound channel that moves from another loop listens again at the same address. */
    @Override
    protected void doRegister() throws Exception {
        super.doRegister();
        if (localAddress != null) {
            try {
                listen(localAddress);
            } catch (Throwable t) {
                // Netty does not deregister a channel whose registration failed: the loop would
                // wait for it.
                super.doDeregister();
                throw t;
            }
        }
    }

    /** A listener belongs to its event loop: requests are refused until the channel is registered again. */
    @Override
    protected void doDeregister() throws Exception {
        super.doDeregister();
        stopListening();
    }

    private void stopListening() {
        admission.rejectAll();
        if (listener != null) {
            listener.close();
            listener = null;
        }
    }

    @Override
    protected void doBeginRead() {
        super.doBeginRead();
        admissionChanged();
    }

    /** A request may be examined, or passed to the pipeline, when the channel reads. */
    private void admissionChanged() {
        if (readPending && admission.hasNext()) {
            becomeReady();
        }
    }

    @Override
    void doDeliver() {
        var handle = unsafe().recvBufAllocHandle();
        handle.reset(config);
        boolean delivered = false;
        DefaultAdmissionRequest admitted;
        while (readPending && (admitted = admission.next()) != null) {
            delivered = true;
            handle.incMessagesRead(1);
            if (!handle.continueReading()) {
                readPending = false;
            }
            Channel child = admittedChild(admitted);
            if (child != null) {
                given = child;
                pipeline().fireChannelRead(child);
                given = null;
            }
        }
        if (delivered) {
            handle.readComplete();
            pipeline().fireChannelReadComplete();
        }
    }

    /** The channel that answers an admitted request, or {@code null} when it was rejected at once. */
    private Channel admittedChild(DefaultAdmissionRequest admitted) {
        AbstractConnectedRdmaChannel child;
        try {
            child = child(admitted.request());
        } catch (Throwable t) {
            admitted.reject(DefaultAdmissionRequest.NO_DATA);
            throw t;
        }
        if (child == null) {
            admitted.end();
        } else {
            child.whenEnded(admitted::end);
        }
        return child;
    }

    @Override
    protected DefaultChannelPipeline newChannelPipeline() {
        return new Pipeline(this);
    }

    /**
     * Refuses the request of a child that no handler has registered, because the peer would wait. A child with an event
     * loop answers the request itself, even if a later handler fails.
     */
    private void refuseGiven() {
        if (given != null) {
            refuse(given);
        }
    }

    /** As above, for a child passed on by a handler with its own executor. */
    private void refuseUnhandled(Object message) {
        if (message instanceof Channel child) {
            if (eventLoop().inEventLoop()) {
                refuse(child);
            } else {
                eventLoop().execute(() -> refuse(child));
            }
        }
    }

    private static void refuse(Channel child) {
        if (!hasEventLoop(child)) {
            child.unsafe().closeForcibly();
        }
    }

    /**
     * Whether a child has an event loop. Registration may be in progress on another thread; Netty signals its absence
     * only by an exception.
     */
    private static boolean hasEventLoop(Channel child) {
        try {
            return child.eventLoop() != null;
        } catch (IllegalStateException e) {
            return false;
        }
    }

    /** Pipeline that detects unhandled children: reaching its tail, or failed in a handler. */
    private static final class Pipeline extends DefaultChannelPipeline {

        private final AbstractRdmaServerChannel server;

        Pipeline(AbstractRdmaServerChannel server) {
            super(server);
            this.server = server;
        }

        @Override
        protected void onUnhandledInboundException(Throwable cause) {
            server.refuseGiven();
            super.onUnhandledInboundException(cause);
        }

        @Override
        protected void onUnhandledInboundMessage(ChannelHandlerContext ctx, Object message) {
            server.refuseUnhandled(message);
            super.onUnhandledInboundMessage(ctx, message);
        }
    }

    @Override
    int drainMillis() {
        return 0;
    }

    @Override
    void cut() {
        // A close has no work to wait for.
    }

    @Override
    protected void doClose() {
        closed = true;
        stopListening();
    }

    @Override
    protected void doDisconnect() {
        throw new UnsupportedOperationException();
    }

    @Override
    protected void doWrite(ChannelOutboundBuffer in) {
        throw new UnsupportedOperationException();
    }

    @Override
    protected Object filterOutboundMessage(Object message) {
        throw new UnsupportedOperationException();
    }

    @Override
    protected AbstractUnsafe newUnsafe() {
        return new AbstractUnsafe() {
            @Override
            public void connect(SocketAddress remote, SocketAddress local, ChannelPromise promise) {
                safeSetFailure(promise, new UnsupportedOperationException());
            }
        };
    }

    private final class Requests implements ListenerHandler {
        @Override
        public void connectionRequested(ConnectionRequest request) {
            admission.add(request);
            admissionChanged();
        }

        @Override
        public void acceptFailed(Throwable cause) {
            // A lack of descriptors is usually temporary: the device pauses and continues, and the
            // channel stays open.
            poller().log().warn(AbstractRdmaServerChannel.this, "accepting has failed", cause);
        }

        @Override
        public void ended(Throwable cause) {
            pipeline().fireExceptionCaught(cause);
            unsafe().close(voidPromise());
        }
    }
}
