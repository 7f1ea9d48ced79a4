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
import java.util.ArrayDeque;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.Listener;
import org.rpcrdma.verbs.ListenerHandler;

/** Takes connection requests and hands each to the pipeline as a channel. */
abstract class AbstractRdmaServerChannel extends AbstractRdmaChannel implements ServerChannel {

    private static final ChannelMetadata METADATA = new ChannelMetadata(false, 16);

    private static final byte[] NO_DATA = {};

    private final RdmaServerChannelConfig config = new RdmaServerChannelConfig(this);
    private final ArrayDeque<ConnectionRequest> requests = new ArrayDeque<>();
    private Listener listener;
    private volatile InetSocketAddress localAddress;
    private volatile boolean closed;

    /** What the pipeline is being given. */
    private Channel given;

    AbstractRdmaServerChannel() {
        super(null);
    }

    /** The channel that answers a request, or {@code null} when it was rejected at once. */
    abstract Channel child(ConnectionRequest request);

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
            listener = loop().context().listen(address, config.getBacklog(), new Requests());
        } catch (BindException e) {
            throw BindExceptionMessages.explained("listen at", address, e);
        }
        localAddress = listener.localAddress();
    }

    /** A bound channel that comes from another loop listens again at the same address. */
    @Override
    protected void doRegister() throws Exception {
        super.doRegister();
        if (localAddress != null) {
            try {
                listen(localAddress);
            } catch (Throwable t) {
                // Netty does not deregister what it could not register: the loop would wait for it.
                super.doDeregister();
                throw t;
            }
        }
    }

    /** A listener belongs to its event loop: until the channel has another one, requests are refused. */
    @Override
    protected void doDeregister() throws Exception {
        super.doDeregister();
        stopListening();
    }

    private void stopListening() {
        requests.forEach(request -> request.reject(NO_DATA));
        requests.clear();
        if (listener != null) {
            listener.close();
            listener = null;
        }
    }

    @Override
    protected void doBeginRead() {
        super.doBeginRead();
        if (!requests.isEmpty()) {
            becomeReady();
        }
    }

    @Override
    void doDeliver() {
        var handle = unsafe().recvBufAllocHandle();
        handle.reset(config);
        boolean delivered = false;
        while (isReadPending() && !requests.isEmpty()) {
            delivered = true;
            handle.incMessagesRead(1);
            if (!handle.continueReading()) {
                readBegins();
            }
            Channel child = child(requests.poll());
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

    @Override
    protected DefaultChannelPipeline newChannelPipeline() {
        return new Pipeline(this);
    }

    /**
     * Nobody has taken the child that the pipeline was given: its request is refused, for the peer would wait. A child
     * that has an event loop answers by itself, also when somebody fails behind that.
     */
    private void refuseGiven() {
        if (given != null) {
            refuse(given);
        }
    }

    /** The same for what a handler on a thread of its own has let through. */
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

    /** Registration may be under way on another thread; Netty tells its absence by an exception alone. */
    private static boolean hasEventLoop(Channel child) {
        try {
            return child.eventLoop() != null;
        } catch (IllegalStateException e) {
            return false;
        }
    }

    /** Sees what falls through: a child without a handler for it, or that a handler has failed at. */
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
    void cut() {
        // There is nothing that a close could wait for.
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
            requests.add(request);
            if (isReadPending()) {
                becomeReady();
            }
        }

        @Override
        public void acceptFailed(Throwable cause) {
            // Running out of descriptors is usually temporary: the device rests for a moment and
            // goes on, and the channel stays open.
            loop().log().warn(AbstractRdmaServerChannel.this, "accepting has failed", cause);
        }

        @Override
        public void ended(Throwable cause) {
            pipeline().fireExceptionCaught(cause);
            unsafe().close(voidPromise());
        }
    }
}
