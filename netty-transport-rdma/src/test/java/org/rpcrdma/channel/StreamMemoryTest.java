// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.channel.ConnectedPair.on;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.DefaultFileRegion;
import io.netty.channel.FixedRecvByteBufAllocator;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.channel.StreamPair.Collector;
import org.rpcrdma.channel.memory.RegisteredBufferPool;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.VerbsProvider;

/** The registered memory of streams: how much they have, and that they wait where there is none. */
@NeedsDevice("privateDataOnAccept")
class StreamMemoryTest {

    private static final int MIB = 1 << 20;

    /** Of a stream that is idle, both ends together. */
    private static final int IDLE_BYTES = 40 << 10;

    private final BlockingQueue<Collector> accepted = new LinkedBlockingQueue<>();
    private final BlockingQueue<Collector> connected = new LinkedBlockingQueue<>();
    private RdmaEventLoopGroup clients;
    private RdmaEventLoopGroup servers;
    private Channel listener;
    private RdmaStreamChannel client;
    private Collector clientSide;
    private Collector serverSide;

    private void begin(VerbsProvider ofServer) throws Exception {
        clients = new RdmaEventLoopGroup(1, Rdma.provider(), new DirectMemoryBudget(4 * MIB));
        servers = new RdmaEventLoopGroup(1, ofServer, new DirectMemoryBudget(4 * MIB));
        listener =
                new ServerBootstrap()
                        .group(servers)
                        .channel(RdmaServerStreamChannel.class)
                        .childHandler(StreamPair.initializer(accepted))
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .sync()
                        .channel();
        connect();
    }

    private void connect() throws Exception {
        client =
                (RdmaStreamChannel)
                        new Bootstrap()
                                .group(clients)
                                .channel(RdmaStreamChannel.class)
                                .handler(StreamPair.initializer(connected))
                                .connect(listener.localAddress())
                                .sync()
                                .channel();
        clientSide = connected.poll(StreamPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
        serverSide = accepted.poll(StreamPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    @AfterEach
    void end() {
        for (RdmaEventLoopGroup group : new RdmaEventLoopGroup[] {clients, servers}) {
            if (group != null) {
                group.shutdownGracefully(0, StreamPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                        .syncUninterruptibly();
            }
        }
    }

    private static byte[] random(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }

    private static RegisteredBufferPool pool(Channel channel) {
        return ((RdmaEventLoop) channel.eventLoop()).poller().pool;
    }

    private static long lent(Channel channel) throws Exception {
        return on(channel, () -> pool(channel).lentBytes());
    }

    private long lent() throws Exception {
        return lent(client) + lent(listener);
    }

    /** Takes all memory of a loop. */
    private static List<ByteBuf> takeAll(Channel channel) {
        List<ByteBuf> all = new ArrayList<>();
        for (; ; ) {
            try {
                all.add(pool(channel).registered(256));
            } catch (IllegalStateException e) {
                return all;
            }
        }
    }

    /** Rounds of the loop, in which nothing comes of what waits. */
    private static void turn(Channel channel) throws Exception {
        for (int i = 0; i < 5; i++) {
            on(channel, () -> 1);
        }
    }

    // ------------------------------------------------------------------ how much

    @Test
    @NeedsDevice("exposesWithoutMemory")
    void anIdleStreamHasLittleMemoryBeforeAndAfterTraffic() throws Exception {
        begin(Rdma.provider());
        for (int i = 0; i < 9; i++) {
            connect();
        }
        assertThat(lent()).isBetween(1L, 10L * IDLE_BYTES);
        long before = lent();
        for (int size : new int[] {10, 200_000, 3_000_000, 5000}) {
            clientSide.clear();
            serverSide.clear();
            byte[] bytes = random(size);
            client.writeAndFlush(Unpooled.wrappedBuffer(bytes)).sync();
            serverSide.awaitBytes(bytes);
            serverSide.channel.writeAndFlush(Unpooled.wrappedBuffer(bytes)).sync();
            clientSide.awaitBytes(bytes);
            StreamPair.await(() -> lent() <= before);
        }
    }

    /** What a pipeline that does not read has not taken is all that is kept for it. */
    @Test
    @NeedsDevice("exposesWithoutMemory")
    void aStreamThatIsNotReadKeepsWhatHasArrivedAndNoMore() throws Exception {
        begin(Rdma.provider());
        RdmaStreamChannel server = serverSide.channel;
        on(server, () -> server.config().setAutoRead(false));
        long before = lent(server);
        int sent = 0;
        for (int size : new int[] {1, 1000, 20_000, 1, 30_000, 1, 1, 1, 1000}) {
            client.writeAndFlush(Unpooled.wrappedBuffer(random(size))).sync();
            sent += size;
        }
        for (int i = 0; i < 1000; i++) {
            client.writeAndFlush(Unpooled.wrappedBuffer(random(1))).sync();
            sent++;
        }
        int all = sent;
        StreamPair.await(() -> lent(server) - before >= all);
        assertThat(lent(server) - before).isLessThan(all + all / 8 + 16_384);
        on(server, () -> server.config().setAutoRead(true));
        StreamPair.await(() -> serverSide.size() == all);
        StreamPair.await(() -> lent(server) == before);
    }

    @Test
    @NeedsDevice("exposesWithoutMemory")
    void aLargeReadGoesOnFromPieceToPiece() throws Exception {
        assertThat(readsOf(20_000)).isEqualTo(1);
    }

    /** The first piece has room for one batch, the second one for two. */
    @Test
    @NeedsDevice("exposesWithoutMemory")
    void smallBatchesAreAnsweredOneByOne() throws Exception {
        assertThat(readsOf(1000)).isEqualTo(2);
    }

    /** The read loops that deliver three writes of that many bytes, which have all arrived before. */
    private int readsOf(int size) throws Exception {
        begin(Rdma.provider());
        RdmaStreamChannel server = serverSide.channel;
        on(server, () -> server.config().setAutoRead(false));
        server.config()
                .setRecvByteBufAllocator(
                        new FixedRecvByteBufAllocator(65_536).maxMessagesPerRead(16));
        long before = lent(server);
        for (int i = 0; i < 3; i++) {
            client.writeAndFlush(Unpooled.wrappedBuffer(random(size))).sync();
        }
        StreamPair.await(() -> lent(server) - before >= 3L * size);
        // What was announced is known when a round is over.
        turn(server);
        AtomicInteger reads = new AtomicInteger();
        server.pipeline()
                .addFirst(
                        new ChannelInboundHandlerAdapter() {
                            @Override
                            public void channelReadComplete(ChannelHandlerContext ctx) {
                                reads.incrementAndGet();
                            }
                        });
        on(server, () -> server.config().setAutoRead(true));
        StreamPair.await(() -> serverSide.size() == 3 * size);
        return on(server, reads::get);
    }

    // ------------------------------------------------------------------ where there is none

    /** The peer is held up, and so is nobody else; it does not matter when the device wants the memory. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whatArrivesWaitsForMemory(boolean late) throws Exception {
        begin(ChangedDevice.of(device -> device.exposesWithoutMemory(late && knowsHow())));
        byte[] bytes = random(2_000_000);
        List<ByteBuf> all = on(listener, () -> takeAll(listener));
        on(serverSide.channel, () -> serverSide.channel.pipeline().addFirst(new Keeper(all)));
        client.writeAndFlush(Unpooled.wrappedBuffer(bytes));
        StreamPair.await(() -> isWaiting(late && knowsHow()));
        assertThat(serverSide.size()).isLessThan(bytes.length);
        assertThat(serverSide.errors).isEmpty();
        on(listener, () -> releaseAll(all));
        StreamPair.await(
                () -> {
                    on(listener, () -> releaseAll(all));
                    return serverSide.size() == bytes.length;
                });
        on(listener, () -> releaseAll(all)); // the last ones may have come behind the look before
        assertThat(serverSide.bytes()).isEqualTo(bytes);
        assertThat(client.isActive()).isTrue();
    }

    private boolean isWaiting(boolean late) throws Exception {
        return on(listener, () -> pool(listener).refusals()) > (late ? 1 : 2)
                && (!late || serverSide.size() == 0);
    }

    private static int releaseAll(List<ByteBuf> buffers) {
        int count = buffers.size();
        buffers.forEach(ByteBuf::release);
        buffers.clear();
        return count;
    }

    /** Has the memory of what is read stay in use. */
    private static final class Keeper extends ChannelInboundHandlerAdapter {
        private final List<ByteBuf> kept;

        Keeper(List<ByteBuf> kept) {
            this.kept = kept;
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            kept.add(((ByteBuf) message).retainedDuplicate());
            ctx.fireChannelRead(message);
        }
    }

    private static boolean knowsHow() {
        try (var context = Rdma.provider().open()) {
            return context.capabilities().exposesWithoutMemory();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** Nothing is lost by it: it goes out when there is memory to copy it to. */
    @Test
    void whatIsWrittenWaitsForMemory(@TempDir Path directory) throws Exception {
        begin(Rdma.provider());
        byte[] bytes = random(300_000);
        Path file = Files.write(directory.resolve("file"), bytes);
        List<ByteBuf> all = on(client, () -> takeAll(client));
        List<ChannelFuture> written = new ArrayList<>();
        written.add(client.write(Unpooled.copiedBuffer(bytes, 0, 1000)));
        written.add(client.write(new DefaultFileRegion(file.toFile(), 1000, 149_000)));
        written.add(client.writeAndFlush(Unpooled.wrappedBuffer(bytes).slice(150_000, 150_000)));
        turn(client);
        assertThat(written).noneMatch(ChannelFuture::isDone);
        assertThat(client.isActive()).isTrue();
        on(client, () -> all.stream().allMatch(ByteBuf::release));
        serverSide.awaitBytes(bytes);
        for (ChannelFuture future : written) {
            assertThat(future.sync().isSuccess()).isTrue();
        }
        assertThat(clientSide.errors).isEmpty();
    }

    /** Where memory that is lent elsewhere is not given back, the stream still ends. */
    @Test
    void aStreamThatWaitsForMemoryCanBeClosed() throws Exception {
        begin(Rdma.provider());
        List<ByteBuf> all = on(client, () -> takeAll(client));
        ChannelFuture written = client.writeAndFlush(Unpooled.copiedBuffer(random(1000)));
        turn(client);
        client.close().sync();
        assertThat(written.await().isSuccess()).isFalse();
        on(client, () -> all.stream().allMatch(ByteBuf::release));
        serverSide.awaitClosed();
        assertThat(serverSide.errors).isEmpty();
    }
}
