// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.net.SocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import org.rpcrdma.verbs.iwarp.mpa.MpaStartupFrame;
import org.rpcrdma.verbs.iwarp.mpa.MpaStartupFrameReader;

/** An accepted TCP connection that owes its MPA Request. What it sends until then is bounded, and so is its time. */
final class MpaRequestReceiver implements SelectionKeyHandler, DeadlineTask {

    /** Owner of start-ups, which counts them. */
    interface Owner {

        /** The MPA Request is complete. */
        void requested(SocketChannel channel, MpaStartupFrame request) throws IOException;

        /** Called once, before {@link #requested} or without it. */
        void startupEnded(MpaRequestReceiver startup);
    }

    private final IwarpContextResources loop;
    private final Owner owner;
    private final SocketChannel channel;
    private final SocketAddress remote;
    private final MpaStartupFrameReader reader = new MpaStartupFrameReader(true);
    private final long deadline;
    private final SelectionKey key;

    MpaRequestReceiver(IwarpContextResources loop, Owner owner, SocketChannel channel)
            throws IOException {
        this.loop = loop;
        this.owner = owner;
        this.channel = channel;
        this.remote = channel.getRemoteAddress();
        this.deadline = loop.nanoTime() + loop.config.responderTimeout().toNanos();
        Sockets.configure(channel, loop.config);
        key = loop.poller.register(channel, SelectionKey.OP_READ, this);
        loop.timers.add(this);
    }

    @Override
    public void ready(int operations) throws IOException {
        MpaStartupFrame request = reader.read(channel);
        if (request != null) {
            finish();
            key.interestOps(0);
            owner.requested(channel, request);
        }
    }

    /** RFC 5044, 7.1.2: a malformed Request is answered by the end of the connection. */
    @Override
    public void failed(Exception cause) {
        loop.counters.startupsRefused++;
        loop.log.warn("Start-up of {} failed: {}", remote, cause);
        close();
    }

    @Override
    public long deadline() {
        return deadline;
    }

    @Override
    public void expired() {
        loop.log.warn(
                "Start-up of {} failed: {}",
                remote,
                new IOException(
                        "No MPA Request within "
                                + loop.config.responderTimeout().toMillis()
                                + " ms"));
        close();
        // Behind it: where memory is lacking, this is called again.
        loop.counters.startupsTimedOut++;
    }

    private void finish() {
        loop.timers.remove(this);
        owner.startupEnded(this);
    }

    void close() {
        finish();
        Sockets.close(channel);
    }
}
