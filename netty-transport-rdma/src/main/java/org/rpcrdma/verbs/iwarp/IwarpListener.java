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
import org.rpcrdma.verbs.iwarp.mpa.MpaNegotiation;
import org.rpcrdma.verbs.iwarp.mpa.MpaStartupFrame;

/** Accepts TCP connections, and reports those whose MPA Request is complete. */
final class IwarpListener
        implements Listener,
                MpaRequestReceiver.Owner,
                PausedListeners.Acceptor,
                SelectionKeyHandler,
                DeadlineTask,
                DequeuedEventHandler,
                AutoCloseable {

    private static final int ACCEPTS_PER_POLL = 64;

    /** Pause after a failed accept, so that a lack of file descriptors does not make the loop spin. */
    private static final long REST_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final IwarpContextResources loop;
    private final ListenerHandler handler;
    private final ServerSocketChannel channel;
    private final SelectionKey key;
    private final InetSocketAddress local;
    private final PendingConnectionRequests pending;
    private final Set<MpaRequestReceiver> halfOpen = new LinkedHashSet<>();
    private final int backlog;
    private boolean closed;
    private boolean resting;
    private long resumeAt;

    IwarpListener(
            IwarpContextResources loop,
            InetSocketAddress address,
            int backlog,
            ListenerHandler handler)
            throws IOException {
        this.loop = loop;
        this.handler = handler;
        this.backlog = Math.max(backlog, 1);
        this.pending = new PendingConnectionRequests();
        this.channel = loop.host.sockets().openServerSocketChannel();
        try {
            channel.configureBlocking(false);
            channel.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            if (loop.config.socketBuffer() > 0) {
                channel.setOption(StandardSocketOptions.SO_RCVBUF, loop.config.socketBuffer());
            }
            channel.bind(address, backlog);
            this.local = (InetSocketAddress) channel.getLocalAddress();
            this.key = loop.poller.register(channel, SelectionKey.OP_ACCEPT, this);
            loop.startups.add(this);
        } catch (IOException | RuntimeException | Error e) {
            Sockets.close(channel);
            throw e;
        }
    }

    @Override
    public InetSocketAddress localAddress() {
        return local;
    }

    @Override
    public void ready(int operations) throws IOException {
        for (int i = 0; i < ACCEPTS_PER_POLL; i++) {
            if (!hasRoom()) {
                // Before it pauses: one that is not listed would never be resumed.
                loop.pausedListeners.add(this);
                key.interestOps(0);
                return;
            }
            SocketChannel accepted = channel.accept();
            if (accepted == null) {
                return;
            }
            begin(accepted);
        }
    }

    private void begin(SocketChannel accepted) throws IOException {
        MpaRequestReceiver startup = null;
        try {
            startup = new MpaRequestReceiver(loop, this, accepted);
            halfOpen.add(startup);
        } catch (IOException | RuntimeException | Error e) {
            Sockets.close(accepted);
            if (startup != null) {
                startup.close();
            }
            throw e;
        }
    }

    /**
     * Whether another connection can be accepted, counting start-ups and unanswered requests. If not, new connections
     * wait in TCP's backlog.
     */
    @Override
    public boolean hasRoom() {
        return halfOpen.size() < loop.config.maxHalfOpen()
                && halfOpen.size() + pending.size() < backlog;
    }

    /** Accepts again: there is room. */
    @Override
    public void resume() {
        if (!resting && !closed) {
            key.interestOps(SelectionKey.OP_ACCEPT);
        }
    }

    /** Accepting has failed. */
    @Override
    public void failed(Exception cause) {
        if (closed) {
            return;
        }
        resumeAt = loop.nanoTime() + REST_NANOS;
        // Before the rest begins: one whose timer could not be set would never end.
        loop.timers.add(this);
        key.interestOps(0);
        resting = true;
        loop.completions.add(this, Kind.ACCEPT_FAILED, cause);
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

    @Override
    public void startupEnded(MpaRequestReceiver startup) {
        halfOpen.remove(startup);
    }

    /** The MPA Request of a connection is complete. */
    @Override
    public void requested(SocketChannel accepted, MpaStartupFrame request) throws IOException {
        String objection = MpaNegotiation.objection(request, loop.config.mpa());
        IwarpConnectionRequest asked =
                new IwarpConnectionRequest(
                        loop.poller, loop.config.mpa(), pending, accepted, request);
        if (objection != null) {
            loop.counters.startupsRefused++;
            loop.log.warn(
                    "MPA Request of {} is refused: {}",
                    asked.remoteAddress(),
                    new IOException(objection));
            IwarpConnectionRequest.refuse(accepted, request, IwarpConnectionRequest.NO_DATA);
            return;
        }
        try {
            pending.add(asked);
            loop.completions.add(this, Kind.CONNECTION_REQUESTED, asked);
        } catch (Error e) {
            // The start-up closes the connection; a request that nobody hears of would keep its
            // place.
            pending.remove(asked);
            throw e;
        }
    }

    @Override
    public void deliver(Kind kind, Object argument, long id, int length, int unused) {
        if (kind != Kind.ACCEPT_FAILED) {
            deliver((IwarpConnectionRequest) argument);
        } else if (!closed) {
            handler.acceptFailed((Throwable) argument);
        }
    }

    private void deliver(IwarpConnectionRequest asked) {
        if (closed) {
            // Refused already, unless closing found no memory for it.
            asked.withdraw();
            return;
        }
        try {
            handler.connectionRequested(asked);
        } catch (RuntimeException | Error e) {
            // Nobody will answer it, and it would keep its place in the backlog.
            asked.withdraw();
            throw e;
        }
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        Sockets.close(channel);
        loop.pausedListeners.remove(this);
        loop.startups.remove(this);
        loop.timers.remove(this);
        loop.poller.dropClosedChannels();
        new ArrayList<>(halfOpen).forEach(MpaRequestReceiver::close);
        pending.rejectAll();
    }
}
