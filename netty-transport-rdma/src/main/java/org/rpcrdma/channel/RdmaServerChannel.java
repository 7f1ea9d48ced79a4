// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.ChannelMetadata;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.ServerChannel;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayDeque;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.Listener;
import org.rpcrdma.verbs.ListenerHandler;

/**
 * Takes connection requests and hands each to the pipeline as a {@link RdmaChannel}.
 *
 * <p>The queue pair of a child belongs to the child's event loop and is made when the child is registered there; only
 * then is the request accepted. A peer's connect therefore completes when this channel reads (which it does by
 * itself unless {@code AUTO_READ} is off), not before.
 */
public final class RdmaServerChannel extends AbstractRdmaChannel implements ServerChannel {

    private static final ChannelMetadata METADATA = new ChannelMetadata(false, 16);

    private static final byte[] NO_DATA = {};

    private final RdmaServerChannelConfig config = new RdmaServerChannelConfig(this);
    private final ArrayDeque<ConnectionRequest> requests = new ArrayDeque<>();
    private Listener listener;
    private boolean readPending;
    private volatile InetSocketAddress localAddress;
    private volatile boolean closed;

    /** A channel that is not bound yet. */
    public RdmaServerChannel() {
        super(null);
    }

    @Override
    public RdmaServerChannelConfig config() {
        return config;
    }

    @Override
    public ChannelMetadata metadata() {
        return METADATA;
    }

    @Override
    public boolean isOpen() {
        return !closed;
    }

    @Override
    public boolean isActive() {
        return !closed && localAddress != null;
    }

    @Override
    public InetSocketAddress localAddress() {
        return (InetSocketAddress) super.localAddress();
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
        listener =
                loop().context()
                        .listen((InetSocketAddress) address, config.getBacklog(), new Requests());
        localAddress = listener.localAddress();
    }

    @Override
    protected void doBeginRead() {
        readPending = true;
        if (!requests.isEmpty()) {
            becomeReady();
        }
    }

    @Override
    void doDeliver() {
        var handle = unsafe().recvBufAllocHandle();
        handle.reset(config);
        boolean delivered = false;
        while (readPending && !requests.isEmpty()) {
            delivered = true;
            handle.incMessagesRead(1);
            readPending = handle.continueReading();
            pipeline().fireChannelRead(new RdmaChannel(this, requests.poll()));
        }
        if (delivered) {
            handle.readComplete();
            pipeline().fireChannelReadComplete();
        }
    }

    @Override
    void cut() {
        // There is nothing that a close could wait for.
    }

    @Override
    protected void doClose() {
        closed = true;
        requests.forEach(request -> request.reject(NO_DATA));
        requests.clear();
        if (listener != null) {
            listener.close();
        }
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
            if (readPending) {
                becomeReady();
            }
        }

        @Override
        public void acceptFailed(Throwable cause) {
            // Running out of a resource is usually temporary: the channel stays open.
            pipeline().fireExceptionCaught(cause);
        }

        @Override
        public void ended(Throwable cause) {
            pipeline().fireExceptionCaught(cause);
            unsafe().close(voidPromise());
        }
    }
}
