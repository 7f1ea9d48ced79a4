// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;
import static org.rpcrdma.channel.ConnectedPair.PATIENCE_SECONDS;
import static org.rpcrdma.channel.ConnectedPair.on;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelPromise;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rpcrdma.channel.internal.ChannelInternals;
import org.rpcrdma.verbs.iwarp.IwarpConfig;
import org.rpcrdma.verbs.iwarp.IwarpProvider;

/** Inbound messages wait while too many of the outbound ones are not sent, and go on when they are. */
class UnsentBoundTest {

    private static final int RECEIVES = 80;
    private static final int BOUND = 16 * RECEIVES;
    private static final int MESSAGES = 3 * BOUND;
    private static final int SHORT = 1000;
    private static final int LONG = 1 << 20;

    /** Sockets that hold a few messages. */
    private static final IwarpConfig DEVICE =
            IwarpConfig.builder().socketBuffer(16 << 10).sharedMemory(false).build();

    /** Whether the client reads nothing from its socket. */
    private final AtomicBoolean isDeaf = new AtomicBoolean(true);

    private final AtomicInteger received = new AtomicInteger();
    private final Answers answers = new Answers();
    private final Queue<Answers> handlers = new ConcurrentLinkedQueue<>(List.of(answers));
    private final RdmaEventLoopGroup servers =
            new RdmaEventLoopGroup(1, new IwarpProvider(DEVICE), PollMode.BLOCKING);
    private final RdmaEventLoopGroup clients =
            new RdmaEventLoopGroup(
                    1,
                    InterceptedDevice.withoutReceiveMemory(new IwarpProvider(DEVICE), isDeaf::get),
                    PollMode.BLOCKING);
    private Channel listener;

    /** Answers each message by one of another length. */
    private static final class Answers extends ChannelInboundHandlerAdapter {
        int length = SHORT;
        boolean isUnbuffered = true;
        boolean isBounded = true;
        final AtomicInteger messages = new AtomicInteger();
        volatile int mostUnsent;
        volatile RdmaChannel channel;
        volatile boolean hasEnded;
        private int unsent;
        private ByteBuf content;

        @Override
        public void handlerAdded(ChannelHandlerContext ctx) {
            channel = (RdmaChannel) ctx.channel();
            content = channel.registeredBuffer(length).writeZero(length);
            ChannelInternals.of(channel).boundUnsent(isBounded);
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ((ByteBuf) message).release();
            mostUnsent = Math.max(mostUnsent, unsent);
            unsent++;
            ChannelPromise promise = ctx.newPromise();
            promise.addListener(sent -> unsent--);
            ByteBuf answer =
                    length == LONG
                            ? content.retainedDuplicate()
                            : channel.sendBuffer(length).writeZero(length);
            if (!isUnbuffered || !ChannelInternals.of(channel).tryWrite(answer, promise)) {
                ctx.write(answer, promise);
            }
            ctx.flush();
            messages.incrementAndGet();
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            if (!channel.config().isAutoRead()) {
                ctx.read();
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            content.release();
            hasEnded = true;
        }
    }

    @BeforeEach
    void listen() throws InterruptedException {
        listener =
                new ServerBootstrap()
                        .group(servers)
                        .channel(RdmaServerChannel.class)
                        .childOption(RdmaChannelOption.RECEIVE_DEPTH, RECEIVES)
                        .childOption(RdmaChannelOption.MAX_SEND_SIZE, LONG)
                        .childHandler(
                                new ChannelInitializer<>() {
                                    @Override
                                    protected void initChannel(Channel channel) {
                                        channel.pipeline().addLast(handlers.remove());
                                    }
                                })
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .sync()
                        .channel();
    }

    private RdmaChannel connect() throws InterruptedException {
        return connect("127.0.0.1");
    }

    private RdmaChannel connect(String address) throws InterruptedException {
        return (RdmaChannel)
                new Bootstrap()
                        .group(clients)
                        .channel(RdmaChannel.class)
                        .option(RdmaChannelOption.RECEIVE_SIZE, LONG)
                        .option(RdmaChannelOption.MAX_SEND_SIZE, SHORT)
                        .option(RdmaChannelOption.DRAIN_MILLIS, 0)
                        .handler(
                                new ChannelInboundHandlerAdapter() {
                                    @Override
                                    public void channelRead(
                                            ChannelHandlerContext ctx, Object message) {
                                        ((ByteBuf) message).release();
                                        received.incrementAndGet();
                                    }
                                })
                        .connect(listener.localAddress(), new InetSocketAddress(address, 0))
                        .sync()
                        .channel();
    }

    @AfterEach
    void shutDown() {
        clients.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        servers.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        assertThat(PeerUnsentQuota.count()).isZero();
        assertThat(PeerUnsentQuota.total()).isZero();
    }

    private static void send(Channel channel, int messages) throws Exception {
        on(
                channel,
                () -> {
                    for (int i = 0; i < messages; i++) {
                        channel.write(Unpooled.buffer(8).writeLong(i));
                    }
                    return channel.flush();
                });
    }

    /** Whether the server has a message that it does not deliver. */
    private boolean isHeld() throws Exception {
        return isHeld(answers);
    }

    private static boolean isHeld(Answers answers) throws Exception {
        RdmaChannel server = answers.channel;
        return on(
                server,
                () -> {
                    MessageChannelDataPath path = (MessageChannelDataPath) server.dataPath();
                    return server.readPending
                            && path.receives.hasMessage()
                            && !path.hasInbound()
                            && path.receivesFollow();
                });
    }

    @ParameterizedTest
    @CsvSource({"true, true", "true, false", "false, true", "false, false"})
    void aPeerThatReadsNothingIsHeldUpUntilItReads(boolean isUnbuffered, boolean isAutoRead)
            throws Exception {
        answers.isUnbuffered = isUnbuffered;
        RdmaChannel client = connect();
        await().until(() -> answers.channel != null && answers.channel.isActive());
        answers.channel.config().setAutoRead(isAutoRead);
        on(answers.channel, answers.channel::read);
        send(client, MESSAGES);
        await().until(this::isHeld);
        assertThat(answers.messages.get()).isBetween(BOUND, MESSAGES - BOUND);
        isDeaf.set(false);
        await().until(() -> received.get() == MESSAGES);
        assertThat(answers.messages.get()).isEqualTo(MESSAGES);
        assertThat(answers.mostUnsent).isEqualTo(BOUND);
    }

    @Test
    void bytesAreBoundedToo() throws Exception {
        int bound = (int) (Math.min(256L << 20, alone()) / LONG);
        int messages = bound + 2 * RECEIVES;
        answers.length = LONG;
        send(connect(), messages);
        await().until(() -> answers.channel != null && isHeld());
        isDeaf.set(false);
        await().until(() -> received.get() == messages);
        assertThat(answers.mostUnsent).isBetween(bound - 1, bound + 2);
    }

    /** The bytes that one address may have while there are no others. */
    private static long alone() {
        return RdmaChannel.registeredBytesLimit() / 10;
    }

    /** Otherwise a few connections that take no replies fill the memory that all of them share. */
    @Test
    void theConnectionsOfOneAddressHaveOneBound() throws Exception {
        assumeThat(alone()).describedAs("what one connection may have").isLessThan(256L << 20);
        int bound = (int) (alone() / LONG);
        int first = answeredUntilHeld("127.0.0.2", answers);
        assertThat(first).isBetween(bound - 1, bound + 2);
        handlers.add(new Answers());
        assertThat(answeredUntilHeld("127.0.0.2", handlers.peek())).isEqualTo(2);
        handlers.add(new Answers());
        assertThat(answeredUntilHeld("127.0.0.3", handlers.peek())).isBetween(bound / 2, first);
    }

    private int answeredUntilHeld(String address, Answers server) throws Exception {
        server.length = LONG;
        send(connect(address), (int) (alone() / LONG) + 2 * RECEIVES);
        await().until(() -> server.channel != null && isHeld(server));
        return server.messages.get();
    }

    /** What is not flushed does not count, for no completion would tell of it. */
    @Test
    void whatIsNotFlushedHoldsNothing() throws Exception {
        isDeaf.set(false);
        RdmaChannel client = connect();
        await().until(() -> answers.channel != null && answers.channel.isActive());
        send(client, 1);
        await().until(() -> received.get() == 1);
        on(
                answers.channel,
                () -> {
                    for (int i = 0; i <= BOUND; i++) {
                        answers.channel.write(Unpooled.buffer(8).writeLong(i));
                    }
                    return null;
                });
        client.writeAndFlush(Unpooled.buffer(8).writeLong(1));
        // The answer flushes what was written before it.
        await().until(() -> received.get() == BOUND + 3);
    }

    @Test
    void whatIsHeldIsDeliveredBeforeTheEnd() throws Exception {
        RdmaChannel client = connect();
        send(client, MESSAGES);
        await().until(() -> answers.channel != null && isHeld());
        int messages = answers.messages.get();
        client.close().sync();
        await().until(() -> answers.hasEnded);
        assertThat(answers.messages.get()).isGreaterThan(messages);
    }

    /** As when the codec is removed: those that stay have no credits. */
    @Test
    void whatIsHeldIsDeliveredWhenTheBoundIsLifted() throws Exception {
        send(connect(), MESSAGES);
        await().until(() -> answers.channel != null && isHeld());
        int messages = answers.messages.get();
        on(
                answers.channel,
                () -> {
                    ChannelInternals.of(answers.channel).boundUnsent(false);
                    return null;
                });
        await().until(() -> answers.messages.get() > messages);
        answers.channel.config().setDrainMillis(1);
        answers.channel.close().sync();
    }

    @Test
    void aCloseDoesNotWaitForWhatIsHeld() throws Exception {
        send(connect(), MESSAGES);
        await().until(() -> answers.channel != null && isHeld());
        int messages = answers.messages.get();
        answers.channel.config().setDrainMillis(1);
        answers.channel.close().sync();
        assertThat(answers.messages.get()).isEqualTo(messages);
        await().until(() -> answers.hasEnded);
    }

    /** Without credits both would wait for each other, so that no channel is bounded but with a codec. */
    @Test
    void twoEndsWithoutCreditsFloodEachOther() throws Exception {
        isDeaf.set(false);
        answers.isBounded = false;
        RdmaChannel client = connect();
        await().until(() -> answers.channel != null && answers.channel.isActive());
        send(answers.channel, MESSAGES);
        send(client, MESSAGES);
        await().until(() -> received.get() == 2 * MESSAGES);
    }
}
