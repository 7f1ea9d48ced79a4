// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.ResourceLeakDetector;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.channel.Rdma;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.channel.RdmaServerStreamChannel;
import org.rpcrdma.channel.RdmaStreamChannel;
import org.rpcrdma.codec.fault.FaultProvider;
import org.rpcrdma.verbs.VerbsProvider;

/** Holds the table of sizes in docs/production.md: what one more of a kind takes at each end. */
@NeedsDevice("receivesWithoutMemory")
@EnabledOnOs(OS.LINUX) // where descriptors can be counted
class SizingTest {

    /** Those before fill pools and tables. */
    private static final int BEFORE = 16;

    private static final int MORE = 32;

    /** What is kept for later calls and connections grows in steps. */
    private static final double TOLERANCE = 0.15;

    private static final int READ_BYTES = 1 << 20;

    private static final Path PAGE =
            Path.of(System.getProperty("basedir", "."))
                    .toAbsolutePath()
                    .resolveSibling("docs/production.md");

    private static final Path DESCRIPTORS = Path.of("/proc/self/fd");

    private interface Step {
        void take(int number) throws Exception;
    }

    /** Bytes of heap at both ends, registered bytes at both ends, and sockets of both ends together. */
    private record Size(
            long clientHeap, long serverHeap, long clientBytes, long serverBytes, long sockets) {}

    /** Keeps what it reads, as a program does that has not answered. */
    @Sharable
    private final class Holder extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            if (read.get() == 0) {
                // Its reply grants more than one credit.
                ctx.writeAndFlush(Rpc.reply(Rpc.xid((ByteBuf) message)));
                ReferenceCountUtil.release(message);
            } else {
                held.add(message);
            }
            read.incrementAndGet();
        }
    }

    @Sharable
    private static final class Nothing extends ChannelInboundHandlerAdapter {}

    private final List<Object> held = new ArrayList<>(BEFORE + MORE);
    private final AtomicInteger read = new AtomicInteger();
    private final AtomicInteger accepted = new AtomicInteger();
    private final ResourceLeakDetector.Level level = ResourceLeakDetector.getLevel();
    private RdmaEventLoopGroup clients;
    private RdmaEventLoopGroup servers;

    /** The records of the leak detector are no part of what is measured. */
    private void open(VerbsProvider ofClients, VerbsProvider ofServers) {
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
        clients = new RdmaEventLoopGroup(1, ofClients, PollMode.BLOCKING);
        servers = new RdmaEventLoopGroup(1, ofServers, PollMode.BLOCKING);
    }

    @AfterEach
    void end() {
        for (EventLoopGroup group : List.of(clients, servers)) {
            group.shutdownGracefully(0, RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .syncUninterruptibly();
        }
        held.forEach(ReferenceCountUtil::release);
        ResourceLeakDetector.setLevel(level);
    }

    @Test
    void anIdleConnection() throws Exception {
        open(Rdma.provider(), Rdma.provider());
        Bootstrap bootstrap = rpc(RpcRdmaConfig.defaults(), RpcRdmaConfig.defaults());
        hold("idle RPC connection", measure(i -> connect(bootstrap)));
    }

    @Test
    void anIdleStream() throws Exception {
        open(Rdma.provider(), Rdma.provider());
        Channel listener =
                listen(new ServerBootstrap(), RdmaServerStreamChannel.class, new Holder());
        Bootstrap bootstrap =
                new Bootstrap()
                        .group(clients)
                        .channel(RdmaStreamChannel.class)
                        .handler(new Nothing())
                        .remoteAddress(listener.localAddress());
        hold("idle stream", measure(i -> connect(bootstrap)));
    }

    @Test
    void aShortCall() throws Exception {
        open(Rdma.provider(), Rdma.provider());
        Channel channel = connect(rpc(RpcRdmaConfig.defaults(), RpcRdmaConfig.defaults()));
        hold("short call outstanding", measure(i -> call(channel, Rpc.call(i, Rpc.NFS, 3, 0))));
    }

    @Test
    void aRead() throws Exception {
        open(Rdma.provider(), Rdma.provider());
        RpcRdmaConfig config = RpcRdmaConfig.builder().maxConnectionBytes(1 << 30).build();
        Channel channel = connect(rpc(config, config));
        hold("READ of 1 MiB outstanding", measure(i -> call(channel, Rpc.read3(i, READ_BYTES))));
    }

    @Test
    void aPostedReceive() throws Exception {
        FaultProvider ofClients = new FaultProvider();
        FaultProvider ofServers = new FaultProvider();
        open(ofClients, ofServers);
        clients.submit(() -> ofClients.context().needMemoryAtOnce()).sync();
        servers.submit(() -> ofServers.context().needMemoryAtOnce()).sync();
        connect(rpc(RpcRdmaConfig.defaults(), RpcRdmaConfig.defaults()));
        long[] expected = row("posted receive, on hardware");
        for (RdmaEventLoopGroup group : List.of(clients, servers)) {
            assertThat(group.postedReceives()).isPositive();
            long registered = on(group, group::registeredBytesInUse);
            assertThat(registered / group.postedReceives()).isEqualTo(expected[2]);
            assertThat(expected[2]).isEqualTo(expected[3]);
        }
    }

    // ------------------------------------------------------------------ what is there

    private Bootstrap rpc(RpcRdmaConfig client, RpcRdmaConfig server) throws Exception {
        Channel listener =
                listen(
                        server.applyTo(new ServerBootstrap()),
                        RdmaServerChannel.class,
                        codec(server, new Holder()));
        return client.applyTo(new Bootstrap())
                .group(clients)
                .channel(RdmaChannel.class)
                .handler(codec(client, new Nothing()))
                .remoteAddress(listener.localAddress());
    }

    private static ChannelHandler codec(RpcRdmaConfig config, ChannelHandler last) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(new RpcRdmaCodec(config), last);
            }
        };
    }

    private Channel listen(
            ServerBootstrap bootstrap, Class<? extends ServerChannel> type, ChannelHandler handler)
            throws InterruptedException {
        return bootstrap
                .group(servers)
                .channel(type)
                .childHandler(
                        new ChannelInitializer<>() {
                            @Override
                            protected void initChannel(Channel channel) {
                                channel.pipeline().addLast(handler);
                                channel.pipeline().addLast(new Arrival());
                            }
                        })
                .bind(InetAddress.getLoopbackAddress(), 0)
                .sync()
                .channel();
    }

    /** Tells that the server's end is there, and leaves. */
    private final class Arrival extends ChannelInboundHandlerAdapter {
        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            ctx.pipeline().remove(this);
            accepted.incrementAndGet();
        }
    }

    private Channel connect(Bootstrap bootstrap) throws InterruptedException {
        int before = accepted.get();
        Channel channel = bootstrap.connect().sync().channel();
        await().until(() -> accepted.get() == before + 1);
        return channel;
    }

    private void call(Channel channel, ByteBuf call) {
        int before = read.get();
        ChannelFuture sent = channel.writeAndFlush(call);
        await().until(() -> read.get() == before + 1);
        sent.syncUninterruptibly(); // until then the Send has its memory
    }

    // ------------------------------------------------------------------ what it takes

    private long[] measure(Step step) throws Exception {
        for (int i = 0; i < BEFORE; i++) {
            step.take(i);
        }
        Size before = size();
        for (int i = 0; i < MORE; i++) {
            step.take(BEFORE + i);
        }
        Size after = size();
        return new long[] {
            (after.clientHeap() - before.clientHeap()) / MORE,
            (after.serverHeap() - before.serverHeap()) / MORE,
            (after.clientBytes() - before.clientBytes()) / MORE,
            (after.serverBytes() - before.serverBytes()) / MORE,
            (after.sockets() - before.sockets()) / MORE
        };
    }

    private Size size() throws Exception {
        return new Size(
                on(clients, () -> ObjectGraph.bytesFrom(clients)),
                on(servers, () -> ObjectGraph.bytesFrom(servers)),
                on(clients, clients::registeredBytesInUse),
                on(servers, servers::registeredBytesInUse),
                sockets());
    }

    private static long on(EventLoopGroup group, Callable<Long> action) throws Exception {
        return group.next().submit(action).get(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    private static long sockets() throws IOException {
        try (Stream<Path> open = Files.list(DESCRIPTORS)) {
            return open.filter(SizingTest::isSocket).count();
        }
    }

    private static boolean isSocket(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString().startsWith("socket:");
        } catch (IOException e) {
            return false; // the one of the list itself
        }
    }

    private static void hold(String what, long[] found) throws IOException {
        long[] written = row(what);
        String both = what + " takes " + Arrays.toString(found);
        for (int i = 0; i < 2; i++) {
            assertThat(found[i] / 1024.0)
                    .as(both)
                    .isBetween(
                            written[i] * (1 - TOLERANCE) - 0.5, written[i] * (1 + TOLERANCE) + 0.5);
        }
        for (int i = 2; i < 4; i++) {
            assertThat(found[i]).as(both).isEqualTo(written[i]);
        }
        assertThat(found[4]).as(both).isEqualTo(2 * written[4]);
    }

    /** The numbers of a row: heap in KiB and registered bytes, requester before responder, and descriptors. */
    private static long[] row(String what) throws IOException {
        Matcher row =
                Pattern.compile(
                                "(?m)^\\| [^|\\n]*"
                                        + Pattern.quote(what)
                                        + "[^|\\n"
                                        + "]* \\| (\\d+) \\| (\\d+) \\| (\\d+) \\| (\\d+) \\|"
                                        + " (\\d+) \\|")
                        .matcher(Files.readString(PAGE));
        assertThat(row.find()).as("docs/production.md has a row: " + what).isTrue();
        long[] numbers = new long[row.groupCount()];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = Long.parseLong(row.group(i + 1));
        }
        return numbers;
    }
}
