// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RdmaCounter;
import org.rpcrdma.channel.RdmaStreamChannel;
import org.rpcrdma.codec.PrivateData;
import org.rpcrdma.codec.wire.TransportHeader;
import org.rpcrdma.verbs.iwarp.SimulatedConnection;

/**
 * Peers of one server that begin and do not go on, each from an address of its own: start-ups without a byte or with
 * half of a request, calls whose Reads are never answered, replies that nobody reads, and streams that are silent.
 */
final class SimulatedCrowd {

    private static final int FIRST_PORT = 60_000;
    private static final int CALL = 40_000;
    private static final int REPLY = 60_000;

    /** The beginning of a request (RFC 5044, 7.1.1). */
    private static final byte[] HALF = "MPA ID Re".getBytes(StandardCharsets.US_ASCII);

    private final SimulatedWorld world;
    private final SimulatedServer server;
    private final int each;
    private final SimulatedHost host;
    private final List<SocketChannel> starting = new ArrayList<>();
    private final List<ChannelFuture> connects = new ArrayList<>();
    private List<SimulatedConnection> stalled = List.of();
    private int peers;
    private long mostMemory;

    /**
     * @param each how many there are of each kind
     */
    SimulatedCrowd(SimulatedWorld world, SimulatedServer server, int each) {
        this.world = world;
        this.server = server;
        this.each = each;
        host = new SimulatedHost(world, "crowd", new Random(1));
    }

    /** Has all of them begin, and hear nothing of the server from now on. */
    void begin() {
        server.expectOverruns();
        for (int i = 0; i < each; i++) {
            startUp();
            connects.add(connect(RdmaChannel.class, server.address));
            connects.add(connect(RdmaChannel.class, server.address));
            connects.add(
                    connect(RdmaStreamChannel.class, SimulatedStreams.address(server.number())));
        }
        world.expect(
                "the crowd is connected",
                () -> connects.stream().allMatch(ChannelFuture::isSuccess));
        stalled =
                world.network.connections().stream()
                        .filter(connection -> connection.port() >= FIRST_PORT)
                        .toList();
        stalled.forEach(connection -> connection.stall(false, Long.MAX_VALUE));
        for (int i = 0; i < each; i += 2) {
            // The others send nothing at all.
            sendHalf(starting.get(i));
        }
        for (int i = 0; i < each; i++) {
            send(connects.get(3 * i), unansweredReads());
            send(connects.get(3 * i + 1), unreadReply());
        }
    }

    private InetSocketAddress local() {
        int number = peers++;
        byte[] address = {127, 0, (byte) (2 + number / 250), (byte) (1 + number % 250)};
        try {
            return new InetSocketAddress(InetAddress.getByAddress(address), FIRST_PORT + number);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void startUp() {
        try {
            SocketChannel socket = world.network.openSocketChannel();
            socket.configureBlocking(false);
            socket.bind(local());
            socket.connect(server.address);
            starting.add(socket);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void sendHalf(SocketChannel socket) {
        try {
            if (socket.finishConnect()) {
                socket.write(ByteBuffer.wrap(HALF));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private ChannelFuture connect(Class<? extends Channel> type, InetSocketAddress to) {
        Bootstrap bootstrap =
                new Bootstrap()
                        .group(host.group)
                        .channel(type)
                        .handler(
                                new ChannelInitializer<>() {
                                    @Override
                                    protected void initChannel(Channel made) {
                                        made.pipeline().addLast(new ChannelInboundHandlerAdapter());
                                    }
                                });
        if (type == RdmaChannel.class) {
            byte[] announced = new PrivateData(4096, 4096, false).encode();
            bootstrap.option(RdmaChannelOption.PRIVATE_DATA, announced);
        } else {
            bootstrap.option(ChannelOption.AUTO_READ, false);
        }
        return bootstrap.connect(to, local());
    }

    private static void send(ChannelFuture to, ByteBuf message) {
        to.channel().writeAndFlush(message);
    }

    private static ByteBuf unansweredReads() {
        TransportHeader header = new TransportHeader().set(1, 1, TransportHeader.RDMA_NOMSG);
        header.reads().add(0, 77, CALL, 0);
        return encoded(header);
    }

    private static ByteBuf unreadReply() {
        TransportHeader header = new TransportHeader().set(1, 1, TransportHeader.RDMA_MSG);
        header.reply().setPresent();
        header.reply().add(77, 2 * REPLY, 0);
        ByteBuf call = SimulatedProgram.call(SimulatedProgram.UNBOUND, 1).setInt(0, 1);
        SimulatedCall.arguments(call, -1, REPLY, 0, new byte[0]);
        ByteBuf message = encoded(header).writeBytes(call);
        call.release();
        return message;
    }

    private static ByteBuf encoded(TransportHeader header) {
        ByteBuf out = Unpooled.buffer();
        header.encode(out);
        return out;
    }

    /** What they hold of the server is no more than they have begun, and as much again. */
    void checkNow() {
        long used = server.host.memoryUsed();
        mostMemory = Math.max(mostMemory, used);
        long most = 2L * each * (CALL + REPLY) + (32 << 20);
        if (used > most) {
            world.wrong(server + " has " + used + " bytes for a crowd, not at most " + most);
        }
    }

    /** By now the honest ones were served. What was begun is given up, without anything that they do. */
    void finish() {
        world.network.note("the crowd has taken " + mostMemory + " bytes at most");
        expectCounted(RdmaCounter.STARTUPS_TIMED_OUT);
        expectCounted(RdmaCounter.READS_STALLED);
    }

    private void expectCounted(RdmaCounter counter) {
        world.expect(
                server + " gives up " + counter, () -> server.host.group.value(counter) >= each);
    }

    void close() {
        stalled.forEach(connection -> connection.stall(false, 0));
        connects.forEach(connect -> connect.channel().close());
        for (SocketChannel socket : starting) {
            try {
                socket.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    void shutdown() {
        host.shutdown();
    }
}
