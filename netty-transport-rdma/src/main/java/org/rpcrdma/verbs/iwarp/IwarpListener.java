// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.verbs.Listener;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.iwarp.mpa.MpaFrame;
import org.rpcrdma.verbs.iwarp.mpa.MpaNegotiation;

/** Accepts TCP connections, and reports those whose MPA Request is complete. */
final class IwarpListener
        implements Listener, SelectionKeyHandler, Timer, CompletionEventTarget, AutoCloseable {

    private static final int ACCEPTS_PER_POLL = 64;

    /** How long accepting rests after it has failed, so that a lack of file descriptors does not make the loop spin. */
    private static final long REST_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private static final byte[] NO_DATA = {};

    private final IwarpContext context;
    private final ListenerHandler handler;
    private final ServerSocketChannel channel;
    private final SelectionKey key;
    private final InetSocketAddress local;
    private final PendingConnectionRequests pending;
    private final Set<PassiveStartup> halfOpen = new LinkedHashSet<>();
    private final int backlog;
    private boolean closed;
    private boolean resting;
    private long resumeAt;

    IwarpListener(
            IwarpContext context, InetSocketAddress address, int backlog, ListenerHandler handler)
            throws IOException {
        this.context = context;
        this.handler = handler;
        this.backlog = Math.max(backlog, 1);
        this.pending = new PendingConnectionRequests();
        this.channel = context.host.sockets().openServerSocketChannel();
        try {
            channel.configureBlocking(false);
            channel.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            if (context.config.socketBuffer() > 0) {
                channel.setOption(StandardSocketOptions.SO_RCVBUF, context.config.socketBuffer());
            }
            channel.bind(address, backlog);
            this.local = (InetSocketAddress) channel.getLocalAddress();
            this.key = context.register(channel, SelectionKey.OP_ACCEPT, this);
        } catch (IOException | RuntimeException e) {
            Sockets.close(channel);
            throw e;
        }
        context.addStartup(this);
    }

    @Override
    public InetSocketAddress localAddress() {
        return local;
    }

    @Override
    public void ready(SelectionKey ready) throws IOException {
        for (int i = 0; i < ACCEPTS_PER_POLL; i++) {
            if (!hasRoom()) {
                key.interestOps(0);
                context.full(this);
                return;
            }
            SocketChannel accepted = channel.accept();
            if (accepted == null) {
                return;
            }
            try {
                halfOpen.add(new PassiveStartup(context, this, accepted));
            } catch (IOException | RuntimeException e) {
                Sockets.close(accepted);
                throw e;
            }
        }
    }

    /**
     * Whether one more can be accepted, with a place among the requests that wait for an answer once it has sent its
     * own. Until then newcomers wait in TCP's backlog, and those that are there are not harmed.
     */
    boolean hasRoom() {
        return halfOpen.size() < context.config.maxHalfOpen()
                && halfOpen.size() + pending.size() < backlog;
    }

    /** Accepts again: there is room. */
    void resume() {
        if (!resting) {
            key.interestOps(SelectionKey.OP_ACCEPT);
        }
    }

    /** Accepting has failed. */
    @Override
    public void failed(Exception cause) {
        if (closed) {
            return;
        }
        context.completions.add(this, Kind.ACCEPT_FAILED, cause);
        key.interestOps(0);
        resting = true;
        resumeAt = context.nanoTime() + REST_NANOS;
        context.timers.add(this);
    }

    @Override
    public long deadline() {
        return resumeAt;
    }

    @Override
    public void expired() {
        resting = false;
        key.interestOps(SelectionKey.OP_ACCEPT);
    }

    void startupEnded(PassiveStartup startup) {
        halfOpen.remove(startup);
    }

    /** The MPA Request of a connection is complete. */
    void requested(SocketChannel accepted, MpaFrame request) throws IOException {
        String objection = MpaNegotiation.objection(request, context.config.mpa());
        IwarpConnectionRequest asked =
                new IwarpConnectionRequest(context, pending, accepted, request);
        if (objection != null) {
            context.counters.startupsRefused++;
            context.log.warn(
                    "MPA Request of {} is refused: {}",
                    asked.remoteAddress(),
                    new IOException(objection));
            IwarpConnectionRequest.refuse(accepted, request, NO_DATA);
            return;
        }
        pending.add(asked);
        context.completions.add(this, Kind.CONNECTION_REQUESTED, asked);
    }

    @Override
    public void deliver(Kind kind, Object argument, long id, int length, int unused) {
        if (closed) {
            return;
        }
        if (kind == Kind.ACCEPT_FAILED) {
            handler.acceptFailed((Throwable) argument);
        } else {
            handler.connectionRequested((IwarpConnectionRequest) argument);
        }
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        context.remove(this);
        context.timers.remove(this);
        Sockets.close(channel);
        context.letGo();
        new ArrayList<>(halfOpen).forEach(PassiveStartup::close);
        pending.rejectAll();
    }
}
