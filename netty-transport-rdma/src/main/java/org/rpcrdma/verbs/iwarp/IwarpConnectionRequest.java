// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.concurrent.atomic.AtomicBoolean;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.iwarp.mpa.MpaNegotiation;
import org.rpcrdma.verbs.iwarp.mpa.MpaStartupFrame;
import org.rpcrdma.verbs.iwarp.mpa.MpaStartupSettings;
import org.rpcrdma.verbs.iwarp.shared.PrivateDataTrailer;
import org.rpcrdma.verbs.iwarp.shared.SharedMemoryOffer;

/**
 * Received MPA Request whose peer waits for the Reply. Answered once, by any thread: by {@link #take}, or by {@link
 * #reject}.
 */
final class IwarpConnectionRequest implements ConnectionRequest {

    static final byte[] NO_DATA = {};

    private final SocketPoller origin;
    private final MpaStartupSettings options;
    private final PendingConnectionRequests pending;
    private final SocketChannel channel;
    private final MpaStartupFrame request;
    private final byte[] privateData;
    private final InetSocketAddress local;
    private final InetSocketAddress remote;
    private final AtomicBoolean answered = new AtomicBoolean();

    IwarpConnectionRequest(
            SocketPoller origin,
            MpaStartupSettings options,
            PendingConnectionRequests pending,
            SocketChannel channel,
            MpaStartupFrame request)
            throws IOException {
        this.origin = origin;
        this.options = options;
        this.pending = pending;
        this.channel = channel;
        this.request = request;
        this.privateData = PrivateDataTrailer.cutOff(request.privateData());
        this.local = (InetSocketAddress) channel.getLocalAddress();
        this.remote = (InetSocketAddress) channel.getRemoteAddress();
    }

    @Override
    public byte[] privateData() {
        return privateData.clone();
    }

    /** The shared memory that the peer announces, or {@code null}. */
    SharedMemoryOffer offer() {
        return SharedMemoryOffer.of(request.privateData());
    }

    @Override
    public InetSocketAddress localAddress() {
        return local;
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return remote;
    }

    MpaStartupFrame frame() {
        return request;
    }

    SocketChannel channel() {
        return channel;
    }

    /**
     * Takes the connection over to the poller of a context, which is the caller's.
     *
     * @throws IOException when it was answered before, or the peer has gone away or sent something
     */
    IwarpConnectionRequest take(SocketPoller poller) throws IOException {
        if (!tryAnswer()) {
            throw new IOException(
                    "The connection request of " + remote + " was answered or withdrawn before");
        }
        try {
            // RFC 5044, 7.1.2: an initiator sends nothing between its Request and the Reply.
            int surplus = channel.read(ByteBuffer.allocate(1));
            if (surplus != 0) {
                throw new IOException(
                        surplus < 0
                                ? "The peer "
                                        + remote
                                        + " closed the connection before it was accepted"
                                : "The peer "
                                        + remote
                                        + " sent more than its MPA Request before the Reply");
            }
            if (poller != origin) {
                release();
                poller.register(channel, 0, NOTHING);
            }
            return this;
        } catch (IOException | RuntimeException | Error e) {
            Sockets.close(channel);
            throw e;
        } finally {
            origin.wakeup();
        }
    }

    /** Removes the socket from the listener's selector. */
    private void release() {
        SelectionKey key = origin.keyOf(channel);
        if (key != null) {
            key.cancel();
        }
    }

    @Override
    public void reject(byte[] privateData) {
        refuse(options.checked(privateData, request.enhanced()));
    }

    /** Nobody has taken it. Gives its place in the backlog back before it needs memory. */
    void withdraw() {
        refuse(NO_DATA);
    }

    private void refuse(byte[] checked) {
        if (tryAnswer()) {
            try {
                refuse(channel, request, checked);
            } finally {
                origin.wakeup();
            }
        }
    }

    /**
     * Takes the answer upon this thread. The listener's one has to be woken behind it: it may wait for room, and a
     * closed socket keeps its descriptor until that thread has selected.
     */
    private boolean tryAnswer() {
        if (!answered.compareAndSet(false, true)) {
            return false;
        }
        pending.remove(this);
        return true;
    }

    /** Sends the Reply that rejects, as far as the socket takes it, which is empty so far, and closes. */
    static void refuse(SocketChannel channel, MpaStartupFrame request, byte[] privateData) {
        try {
            channel.write(ByteBuffer.wrap(MpaNegotiation.rejection(request, privateData).encode()));
            channel.shutdownOutput();
        } catch (IOException e) {
            // The peer has disconnected.
        } finally {
            Sockets.close(channel);
        }
    }

    private static final SelectionKeyHandler NOTHING =
            new SelectionKeyHandler() {
                @Override
                public void ready(int operations) {}

                @Override
                public void failed(Exception cause) {}
            };
}
