// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.capture;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultFileRegion;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.embedded.EmbeddedChannel;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.NotYetConnectedException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.channel.RdmaServerStreamChannel;
import org.rpcrdma.channel.RdmaStreamChannel;
import org.rpcrdma.channel.RdmaWrite;
import org.rpcrdma.channel.RemoteAccess;

/** Captures of channels without the codec. */
class ChannelCaptureTest {

    private static final int FIN = 0x01;
    private static final int RESET = 0x04;
    private static final int RDMA_WRITE = 0x40;
    private static final int SEND = 0x43;

    private final EventLoopGroup group = new RdmaEventLoopGroup(1);
    private final BlockingQueue<Channel> accepted = new LinkedBlockingQueue<>();
    private final ByteArrayOutputStream received = new ByteArrayOutputStream();

    @TempDir private Path directory;

    @AfterEach
    void shutDown() {
        group.shutdownGracefully(0, 60, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /** Connects both ends, of which the client's is captured. */
    private Channel connected(
            Class<? extends ServerChannel> server,
            Class<? extends Channel> client,
            RdmaPcapFile file)
            throws Exception {
        Channel listener =
                new ServerBootstrap()
                        .group(group)
                        .channel(server)
                        .childOption(ChannelOption.ALLOW_HALF_CLOSURE, true)
                        .childHandler(new Receiver())
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .sync()
                        .channel();
        return new Bootstrap()
                .group(group)
                .channel(client)
                .option(ChannelOption.ALLOW_HALF_CLOSURE, true)
                .handler(
                        new ChannelInitializer<>() {
                            @Override
                            protected void initChannel(Channel channel) {
                                channel.pipeline()
                                        .addFirst(new RdmaCaptureHandler(file))
                                        .addLast(new Drain());
                            }
                        })
                .connect(listener.localAddress())
                .sync()
                .channel();
    }

    private final class Receiver extends ChannelInboundHandlerAdapter {
        @Override
        public boolean isSharable() {
            return true;
        }

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            accepted.add(ctx.channel());
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) throws IOException {
            ByteBuf bytes = (ByteBuf) message;
            synchronized (received) {
                bytes.readBytes(received, bytes.readableBytes());
            }
            bytes.release();
        }
    }

    private static final class Drain extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ((ByteBuf) message).release();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            // A peer has cut the connection.
        }
    }

    private static byte[] random(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }

    private void awaitReceived(int bytes) {
        await().until(
                        () -> {
                            synchronized (received) {
                                return received.size() >= bytes;
                            }
                        });
    }

    /** The bytes of one direction, whose sequence numbers have no gap. */
    private static byte[] bytesFrom(int port, List<Packet> packets) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        packets.stream()
                .filter(packet -> packet.port() == port && packet.payloadLength() > 0)
                .forEach(
                        packet -> {
                            assertThat(packet.sequence()).isEqualTo(bytes.size() + 1);
                            bytes.writeBytes(packet.payload());
                        });
        return bytes.toByteArray();
    }

    private static List<Integer> flagsFrom(int port, List<Packet> packets, int flag) {
        return packets.stream()
                .filter(packet -> packet.port() == port && (packet.flags() & flag) != 0)
                .map(Packet::payloadLength)
                .toList();
    }

    @Test
    void aStreamIsATcpConnectionWithItsBytes() throws Exception {
        Path path = directory.resolve("stream");
        byte[] content = random(200_000);
        Path source = Files.write(directory.resolve("source"), content);
        byte[] reply = random(70_000);
        int own;
        int theirs;
        try (RdmaPcapFile file = RdmaPcapFile.create(path)) {
            RdmaStreamChannel client =
                    (RdmaStreamChannel)
                            connected(RdmaServerStreamChannel.class, RdmaStreamChannel.class, file);
            own = client.localAddress().getPort();
            theirs = client.remoteAddress().getPort();
            client.write(Unpooled.copiedBuffer(content, 0, 10_000));
            client.write(new DefaultFileRegion(source.toFile(), 10_000, 100_000));
            client.write(Unpooled.copiedBuffer(content, 110_000, 1));
            client.write(new DefaultFileRegion(source.toFile(), 110_001, 9));
            client.write(new DefaultFileRegion(source.toFile(), 110_010, 89_989));
            client.writeAndFlush(Unpooled.copiedBuffer(content, 199_999, 1)).sync();
            client.shutdownOutput().sync();
            RdmaStreamChannel server = (RdmaStreamChannel) accepted.take();
            awaitReceived(content.length);
            server.writeAndFlush(Unpooled.wrappedBuffer(reply)).sync();
            server.close().sync();
            await().until(() -> !client.isRegistered()); // all events are over
        }
        assertThat(received.toByteArray()).isEqualTo(content);
        List<Packet> packets = Packet.in(path);
        assertThat(bytesFrom(own, packets)).isEqualTo(content);
        assertThat(bytesFrom(theirs, packets)).isEqualTo(reply);
        assertThat(flagsFrom(own, packets, FIN)).containsExactly(0);
        assertThat(flagsFrom(theirs, packets, FIN)).containsExactly(0);
        assertThat(flagsFrom(own, packets, RESET)).isEmpty();
        int end = packets.stream().map(Packet::flags).toList().lastIndexOf(FIN | 0x10);
        assertThat(packets.get(end).port()).as("the last one to end").isEqualTo(theirs);
    }

    @Test
    void aStreamThatIsCutOffEndsByAReset() throws Exception {
        Path path = directory.resolve("stream");
        int theirs;
        try (RdmaPcapFile file = RdmaPcapFile.create(path)) {
            RdmaStreamChannel client =
                    (RdmaStreamChannel)
                            connected(RdmaServerStreamChannel.class, RdmaStreamChannel.class, file);
            theirs = client.remoteAddress().getPort();
            client.writeAndFlush(Unpooled.copyInt(1)).sync();
            RdmaStreamChannel server = (RdmaStreamChannel) accepted.take();
            awaitReceived(Integer.BYTES);
            server.config().setSoLinger(0);
            server.close().sync();
            await().until(() -> !client.isRegistered()); // all events are over
        }
        List<Packet> packets = Packet.in(path);
        assertThat(flagsFrom(theirs, packets, RESET)).containsExactly(0);
        assertThat(packets).noneMatch(packet -> (packet.flags() & FIN) != 0);
    }

    /** A message may look like a header of RPC-over-RDMA, and is none. */
    @Test
    void messagesAreIwarpWithoutTheCodec() throws Exception {
        Path path = directory.resolve("messages");
        int own;
        try (RdmaPcapFile file = RdmaPcapFile.create(path)) {
            RdmaChannel client =
                    (RdmaChannel) connected(RdmaServerChannel.class, RdmaChannel.class, file);
            own = client.localAddress().getPort();
            RdmaChannel server = (RdmaChannel) accepted.take();
            ByteBuf target =
                    server.eventLoop().submit(() -> server.registeredBuffer(8).writeLong(0)).get();
            int handle =
                    server.eventLoop()
                            .submit(() -> server.expose(target, 0, 8, RemoteAccess.WRITE))
                            .get();
            long offset = server.eventLoop().submit(() -> server.exposedOffset(handle)).get();
            client.write(new RdmaWrite(Unpooled.copyLong(42), handle, offset));
            client.writeAndFlush(Unpooled.wrappedBuffer(new byte[64])).sync();
            awaitReceived(64);
            assertThat(target.getLong(0)).isEqualTo(42);
            server.eventLoop().submit(() -> server.invalidate(handle)).get();
            target.release();
            client.close().sync();
            await().until(() -> !client.isRegistered());
        }
        List<byte[]> payloads =
                Packet.in(path).stream()
                        .filter(packet -> packet.port() == own && packet.payloadLength() > 0)
                        .map(Packet::payload)
                        .toList();
        assertThat(new String(payloads.get(0), 0, 16, StandardCharsets.US_ASCII))
                .isEqualTo("MPA ID Req Frame");
        assertThat(payloads.stream().skip(1).map(fpdu -> fpdu[3] & 0x4f))
                .containsExactly(RDMA_WRITE, SEND);
    }

    /** What is written before the connection has no addresses, and must not take those of the file with it. */
    @Test
    void aMessageBeforeTheConnectionLeavesItsAddressesAlone() throws Exception {
        Path path = directory.resolve("early");
        int own;
        try (RdmaPcapFile file = RdmaPcapFile.create(path)) {
            Channel listener =
                    new ServerBootstrap()
                            .group(group)
                            .channel(RdmaServerChannel.class)
                            .childHandler(new Receiver())
                            .bind(InetAddress.getLoopbackAddress(), 0)
                            .sync()
                            .channel();
            Channel client =
                    new Bootstrap()
                            .group(group)
                            .channel(RdmaChannel.class)
                            .handler(new RdmaCaptureHandler(file))
                            .register()
                            .sync()
                            .channel();
            assertThat(client.writeAndFlush(Unpooled.copyInt(1)).await().cause())
                    .isInstanceOf(NotYetConnectedException.class);
            client.connect(listener.localAddress()).sync();
            own = ((InetSocketAddress) client.localAddress()).getPort();
            client.writeAndFlush(Unpooled.copyInt(2)).sync();
            awaitReceived(Integer.BYTES);
            client.close().sync();
            await().until(() -> !client.isRegistered()); // all events are over
        }
        int theirs = Packet.in(path).get(1).port();
        assertThat(theirs).isNotZero();
        assertThat(Packet.in(path)).extracting(Packet::port).containsOnly(own, theirs);
    }

    @Test
    void anotherChannelIsRefused() throws Exception {
        try (RdmaPcapFile file = RdmaPcapFile.create(directory.resolve("other"))) {
            EmbeddedChannel other = new EmbeddedChannel();
            other.pipeline().addFirst(new RdmaCaptureHandler(file));
            assertThatThrownBy(other::checkException)
                    .hasStackTraceContaining("expected: an RdmaChannel or an RdmaStreamChannel");
        }
    }
}
