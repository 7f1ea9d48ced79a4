// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;

/** Addresses of a queue pair, and the TCP socket behind them. */
final class QueuePairTcpSocket {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(QueuePairTcpSocket.class);

    /** A socket that is bound and not yet connected. */
    private SocketChannel bound;

    /** -1 while nobody has set it: the system's default. */
    private int trafficClass = -1;

    private SocketChannel connection;
    private InetSocketAddress local;
    private InetSocketAddress remote;

    InetSocketAddress local() {
        return local;
    }

    InetSocketAddress remote() {
        return remote;
    }

    /** The TCP connection, once there is one, whatever carries the stream. */
    SocketChannel connection() {
        return connection;
    }

    /** Sets the addresses of a connection that the peer has begun. */
    void requested(InetSocketAddress localAddress, InetSocketAddress remoteAddress) {
        local = localAddress;
        remote = remoteAddress;
    }

    InetSocketAddress bind(InetSocketAddress address, IwarpHost host, IwarpConfig config)
            throws IOException {
        SocketChannel socket = host.sockets().openSocketChannel();
        try {
            Sockets.configure(socket, config);
            socket.bind(address);
            local = (InetSocketAddress) socket.getLocalAddress();
        } catch (IOException | RuntimeException e) {
            Sockets.close(socket);
            throw e;
        }
        closeBound();
        bound = socket;
        return local;
    }

    /** Takes the socket to connect with, {@code null} when none is bound to that address. */
    SocketChannel takeBound(InetSocketAddress peer, InetSocketAddress from) {
        remote = peer;
        if (bound != null && from != null && !from.equals(local)) {
            closeBound();
        }
        SocketChannel socket = bound;
        bound = null;
        return socket;
    }

    void closeBound() {
        if (bound != null) {
            Sockets.close(bound);
            bound = null;
        }
    }

    /** Learns the addresses of a connection that was begun here. */
    void established(SocketChannel channel) throws IOException {
        local = (InetSocketAddress) channel.getLocalAddress();
        remote = (InetSocketAddress) channel.getRemoteAddress();
    }

    void connection(SocketChannel channel) {
        connection = channel;
        if (trafficClass >= 0) {
            applyTrafficClass();
        }
    }

    /** Sets the octet now, or once there is a connection. */
    void trafficClass(int octet) {
        trafficClass = octet;
        if (connection != null) {
            applyTrafficClass();
        }
    }

    /** A system that refuses the value leaves the connection as it is. */
    private void applyTrafficClass() {
        try {
            connection.setOption(StandardSocketOptions.IP_TOS, trafficClass);
        } catch (IOException | RuntimeException e) {
            LOGGER.debug("Traffic class {} of {} failed", trafficClass, connection, e);
        }
    }

    /** Starts the keep-alive of TCP; a connection that cannot have it does without. */
    void keepAlive(int idleSeconds) {
        try {
            TcpKeepAliveOptions.start(connection, idleSeconds);
        } catch (IOException | RuntimeException e) {
            LOGGER.debug("Keep-alive of {} failed", connection, e);
        }
    }
}
