// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.net.SocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import org.rpcrdma.verbs.iwarp.mpa.MpaFrame;
import org.rpcrdma.verbs.iwarp.mpa.MpaFrameReader;

/** An accepted TCP connection that owes its MPA Request. What it sends until then is bounded, and so is its time. */
final class PassiveStartup implements SelectionKeyHandler, Timer {

    private final IwarpContext context;
    private final IwarpListener listener;
    private final SocketChannel channel;
    private final SocketAddress remote;
    private final MpaFrameReader reader = new MpaFrameReader(true);
    private final long deadline;

    PassiveStartup(IwarpContext context, IwarpListener listener, SocketChannel channel)
            throws IOException {
        this.context = context;
        this.listener = listener;
        this.channel = channel;
        this.remote = channel.getRemoteAddress();
        this.deadline = context.nanoTime() + context.config.responderTimeout().toNanos();
        Sockets.configure(channel, context.config);
        context.register(channel, SelectionKey.OP_READ, this);
        context.timers.add(this);
    }

    @Override
    public void ready(SelectionKey key) throws IOException {
        MpaFrame request = reader.read(channel);
        if (request != null) {
            finish();
            key.interestOps(0);
            listener.requested(channel, request);
        }
    }

    /** RFC 5044, 7.1.2: a malformed Request is answered by the end of the connection. */
    @Override
    public void failed(Exception cause) {
        context.counters.startupsRefused++;
        context.log.warn("Start-up of {} failed: {}", remote, cause);
        close();
    }

    @Override
    public long deadline() {
        return deadline;
    }

    @Override
    public void expired() {
        context.counters.startupsTimedOut++;
        context.log.warn(
                "Start-up of {} failed: {}",
                remote,
                new IOException(
                        "No MPA Request within "
                                + context.config.responderTimeout().toMillis()
                                + " ms"));
        close();
    }

    private void finish() {
        context.timers.remove(this);
        listener.startupEnded(this);
    }

    void close() {
        finish();
        Sockets.close(channel);
    }
}
