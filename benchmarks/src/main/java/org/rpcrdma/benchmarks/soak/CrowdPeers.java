// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.soak;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaStreamChannel;

/** Connections of one kind, each of which stays half done, from several addresses. One thread. */
final class CrowdPeers {

    /** The MPA Reply's fixed part (RFC 5044, 7.1.1). */
    private static final int REPLY_HEADER = 20;

    private static final int REPLY_TIMEOUT_MILLIS = 2000;
    private static final int SMALL_BUFFER = 4096;

    private final HalfDone kind;
    private final RdmaEventLoopGroup group;
    private final int addresses;
    private final List<SocketChannel> sockets = new ArrayList<>();
    private final List<Channel> streams = new ArrayList<>();
    private int refused;

    /** @param addresses of the loopback, from 127.0.0.2 on */
    CrowdPeers(HalfDone kind, RdmaEventLoopGroup group, int addresses) {
        this.kind = kind;
        this.group = group;
        this.addresses = addresses;
    }

    /** Opens so many; those that the server does not take are counted. */
    void open(int count, int port, int streamPort) throws IOException, InterruptedException {
        for (int i = 0; i < count; i++) {
            InetSocketAddress from = from(i);
            if (kind == HalfDone.STREAM) {
                openStream(
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), streamPort), from);
            } else {
                openSocket(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), from, i);
            }
        }
    }

    private InetSocketAddress from(int number) throws IOException {
        byte[] address = {127, 0, 0, (byte) (2 + number % addresses)};
        return new InetSocketAddress(InetAddress.getByAddress(address), 0);
    }

    private void openStream(InetSocketAddress server, InetSocketAddress from)
            throws InterruptedException {
        ChannelFuture connected =
                new Bootstrap()
                        .group(group)
                        .channel(RdmaStreamChannel.class)
                        .handler(new ChannelInboundHandlerAdapter())
                        .connect(server, from)
                        .await();
        if (connected.isSuccess()) {
            streams.add(connected.channel());
        } else {
            refused++;
        }
    }

    private void openSocket(InetSocketAddress server, InetSocketAddress from, int number)
            throws IOException {
        SocketChannel socket = SocketChannel.open();
        try {
            socket.setOption(StandardSocketOptions.TCP_NODELAY, true);
            if (kind == HalfDone.REPLY) {
                socket.setOption(StandardSocketOptions.SO_RCVBUF, SMALL_BUFFER);
            }
            socket.bind(from);
            socket.connect(server);
            if (kind.startsUp()) {
                write(socket, HalfDone.request());
                awaitReply(socket);
            }
            write(socket, kind.bytes(number));
            socket.configureBlocking(false);
            sockets.add(socket);
        } catch (IOException e) {
            refused++;
            socket.close();
        }
    }

    private static void write(SocketChannel socket, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            socket.write(bytes);
        }
    }

    private static void awaitReply(SocketChannel socket) throws IOException {
        socket.socket().setSoTimeout(REPLY_TIMEOUT_MILLIS);
        byte[] header = socket.socket().getInputStream().readNBytes(REPLY_HEADER);
        if (header.length < REPLY_HEADER) {
            throw new IOException("no MPA Reply");
        }
        int length = ByteBuffer.wrap(header).getShort(REPLY_HEADER - 2);
        if (socket.socket().getInputStream().readNBytes(length).length < length) {
            throw new SocketTimeoutException("half an MPA Reply");
        }
    }

    /** How many are open, as far as this end knows: who does not read does not see an end. */
    int open() throws IOException {
        int open = 0;
        ByteBuffer ignored = ByteBuffer.allocate(SMALL_BUFFER);
        for (SocketChannel socket : sockets) {
            open += kind == HalfDone.REPLY || isOpen(socket, ignored.clear()) ? 1 : 0;
        }
        for (Channel stream : streams) {
            open += stream.isActive() ? 1 : 0;
        }
        return open;
    }

    private static boolean isOpen(SocketChannel socket, ByteBuffer ignored) {
        try {
            int read = socket.read(ignored);
            while (read > 0) {
                read = socket.read(ignored.clear());
            }
            return read == 0;
        } catch (IOException e) {
            return false;
        }
    }

    int refused() {
        return refused;
    }

    void close() throws IOException {
        for (SocketChannel socket : sockets) {
            socket.close();
        }
        sockets.clear();
        streams.forEach(Channel::close);
        streams.clear();
        refused = 0;
    }

    @Override
    public String toString() {
        return kind.toString();
    }
}
