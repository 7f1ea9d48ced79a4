// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.ChannelPromise;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.ConnectionPendingException;
import java.nio.channels.UnresolvedAddressException;

/** Establishes a connection: binds and connects, or answers a request. Event loop only. */
final class ConnectionEstablishment {

    private final AbstractConnectedRdmaChannel channel;
    private final ChannelQueuePairLifecycle queuePair;

    /** Pending connect of the user; {@code null} for none. */
    private PendingConnect attempt;

    ConnectionEstablishment(
            AbstractConnectedRdmaChannel channel, ChannelQueuePairLifecycle queuePair) {
        this.channel = channel;
        this.queuePair = queuePair;
    }

    // ------------------------------------------------------------------ by a request

    /** Whether the channel answers, or has answered, a request, and so becomes or became active without connect. */
    boolean isByRequest() {
        return channel.isOpen() && channel.parent() != null;
    }

    /** Answers the request; closes the channel on failure. */
    void accept() {
        queuePair.configured();
        try {
            channel.begin(
                    queuePair.ofRequest(
                            channel.poller().context(),
                            channel.queuePairConfig(),
                            channel.events()));
            applyTrafficClass();
            queuePair.accept(channel.dataPath().privateData());
        } catch (Throwable t) {
            // One line, rate-limited: this may happen to every connection.
            channel.poller().log().warn(channel, "the connection is not accepted", t);
            channel.closeAtOnce();
        }
    }

    // ------------------------------------------------------------------ by this side

    void bind(InetSocketAddress local) throws IOException {
        if (queuePair.isThere() || queuePair.isRequested()) {
            throw new AlreadyBoundException();
        }
        try {
            create();
            bindQueuePair(local);
        } catch (Throwable t) {
            channel.free();
            queuePair.reopened();
            throw t;
        }
    }

    private void bindQueuePair(InetSocketAddress local) throws IOException {
        try {
            queuePair.bind(local);
        } catch (BindException e) {
            throw BindExceptionMessages.explained("connect from", local, e);
        }
    }

    /** Hands {@code IP_TOS} to the device, if somebody has set it. */
    void applyTrafficClass() {
        int octet = ((AbstractRdmaChannelConfig) channel.config()).trafficClass();
        if (octet >= 0) {
            queuePair.trafficClass(octet);
        }
    }

    private void create() throws IOException {
        queuePair.configured();
        channel.begin(
                queuePair.toConnect(
                        channel.poller().context(), channel.queuePairConfig(), channel.events()));
        applyTrafficClass();
    }

    /**
     * Connects.
     *
     * @param local address to bind; {@code null} for the bound address, or any
     */
    void connect(SocketAddress remote, SocketAddress local, ChannelPromise promise) {
        InetSocketAddress from;
        try {
            checkUnconnected();
            from = local == null ? null : AbstractRdmaChannel.internet(local);
            attempt = new PendingConnect(promise, resolved(remote));
        } catch (RuntimeException e) {
            promise.tryFailure(e);
            return;
        }
        try {
            if (!queuePair.isThere()) {
                create();
            }
            queuePair.connect(attempt.remote(), from, channel.dataPath().privateData());
        } catch (Throwable t) {
            // As when the peer refuses: releases the unusable queue pair.
            failed(t);
            return;
        }
        attempt.limit(
                channel.eventLoop(), channel.config().getConnectTimeoutMillis(), this::giveUp);
        attempt.whenCancelled(() -> channel.unsafe().close(channel.voidPromise()));
    }

    private void checkUnconnected() {
        if (attempt != null) {
            throw new ConnectionPendingException();
        }
        if (channel.parent() != null || channel.isActive()) {
            throw new AlreadyConnectedException();
        }
    }

    private static InetSocketAddress resolved(SocketAddress remote) {
        InetSocketAddress peer = AbstractRdmaChannel.internet(remote);
        if (peer.isUnresolved()) {
            throw new UnresolvedAddressException();
        }
        return peer;
    }

    // ------------------------------------------------------------------ how it turns out

    /** The peer has answered, or was answered. */
    void connected(byte[] privateData) {
        if (!channel.isOpen()) {
            return;
        }
        AbstractChannelDataPath<?> dataPath = channel.dataPath();
        try {
            dataPath.opened(queuePair.agreed(privateData, dataPath.assumedPrivateData()));
        } catch (IOException | RuntimeException | OutOfMemoryError e) {
            failed(e);
            return;
        }
        if (channel.isClosing()) {
            try {
                dataPath.closing();
            } catch (RuntimeException | Error e) {
                // The close that waits has nothing to wait for.
                channel.cut();
                return;
            }
            channel.workDone(false);
            return;
        }
        queuePair.connected();
        PendingConnect succeeded = attempt;
        attempt = null;
        boolean isWanted = succeeded == null ? channel.parent() != null : succeeded.trySuccess();
        channel.pipeline().fireChannelActive();
        if (!isWanted) {
            channel.unsafe().close(channel.voidPromise());
        } else if (channel.isActive()) {
            channel.flushMore();
        }
    }

    /** The connection failed: fails the pending connect, with the peer's address. */
    void failed(Throwable cause) {
        giveUp(attempt == null ? cause : channel.annotated(cause, attempt.remote()));
    }

    private void giveUp(Throwable cause) {
        end(cause);
        channel.closeAtOnce();
    }

    /** Fails the pending connect, if any. */
    void end(Throwable cause) {
        PendingConnect failed = attempt;
        attempt = null;
        if (failed != null) {
            failed.fail(cause);
        }
    }
}
