// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.rpcrdma.channel.ConnectedPair.PATIENCE_SECONDS;
import static org.rpcrdma.channel.ConnectedPair.on;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelConfig;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandler;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ConnectTimeoutException;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.local.LocalAddress;
import io.netty.util.concurrent.DefaultEventExecutorGroup;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.ClosedChannelException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.internal.ChannelInternals;
import org.rpcrdma.verbs.iwarp.IwarpConfig;
import org.rpcrdma.verbs.iwarp.IwarpProvider;

/** What programs that were written for Netty's other channels rely on. */
class ChannelContractTest {

    private static final InetAddress LOOPBACK = InetAddress.getLoopbackAddress();

    /** Its start-ups are not cut on a machine that is busy with other work. */
    private static RdmaEventLoopGroup softwareGroup() {
        Duration patience = Duration.ofSeconds(PATIENCE_SECONDS);
        IwarpConfig config =
                IwarpConfig.builder().initiatorTimeout(patience).responderTimeout(patience).build();
        return new RdmaEventLoopGroup(1, new IwarpProvider(config), PollMode.ADAPTIVE);
    }

    private static void shutDown(RdmaEventLoopGroup group) {
        group.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private static Bootstrap client(RdmaEventLoopGroup group) {
        return new Bootstrap()
                .group(group)
                .channel(RdmaChannel.class)
                .handler(new ChannelInboundHandlerAdapter() {});
    }

    private static ServerBootstrap server(RdmaEventLoopGroup group, ChannelHandler child) {
        return new ServerBootstrap()
                .group(group)
                .channel(RdmaServerChannel.class)
                .childHandler(child);
    }

    private static void awaitClosed(Channel channel) throws InterruptedException {
        assertThat(channel.closeFuture().await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void aWriteToAPeerThatIsGoneFailsAlsoWhileMessagesWait() throws Exception {
        try (ConnectedPair pair =
                new ConnectedPair(
                        client -> {},
                        server -> server.childOption(ChannelOption.AUTO_READ, false))) {
            pair.client.writeAndFlush(Unpooled.copyInt(1)).sync();
            pair.client.close().sync();
            ChannelFuture write;
            do {
                write = pair.server.writeAndFlush(Unpooled.copyInt(2));
                assertThat(write.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
            } while (write.isSuccess());
            assertThat(write.cause()).isInstanceOf(ClosedChannelException.class);
            pair.server.read();
            assertThat(pair.serverInbox.takeBytes()).containsExactly(0, 0, 0, 1);
            awaitClosed(pair.server);
        }
    }

    @Test
    void whatAChildWritesBeforeItIsActiveIsSent() throws Exception {
        ChannelInboundHandlerAdapter greeting =
                new ChannelInboundHandlerAdapter() {
                    @Override
                    public void channelRegistered(ChannelHandlerContext ctx) {
                        assertThat(ctx.channel().isActive()).isFalse();
                        ctx.writeAndFlush(Unpooled.copyInt(7));
                    }
                };
        BlockingQueue<Integer> received = new LinkedBlockingQueue<>();
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        try {
            Channel listener =
                    server(
                                    group,
                                    new ChannelInitializer<>() {
                                        @Override
                                        protected void initChannel(Channel channel) {
                                            channel.pipeline().addLast(greeting);
                                        }
                                    })
                            .bind(LOOPBACK, 0)
                            .sync()
                            .channel();
            client(group)
                    .handler(
                            new SimpleChannelInboundHandler<ByteBuf>() {
                                @Override
                                public void channelActive(ChannelHandlerContext ctx) {
                                    // Over iWARP an acceptor may have to wait for it (RFC 5044,
                                    // 7.1.2).
                                    ctx.writeAndFlush(Unpooled.copyInt(1));
                                }

                                @Override
                                protected void channelRead0(
                                        ChannelHandlerContext ctx, ByteBuf message) {
                                    received.add(message.readInt());
                                }
                            })
                    .connect(listener.localAddress())
                    .sync();
            assertThat(received.poll(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo(7);
        } finally {
            group.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
        }
    }

    @Test
    void nothingIsReadAfterCloseAlsoWhileSendsArePending() throws Exception {
        List<Channel> readAfterClose = new ArrayList<>();
        ChannelInboundHandlerAdapter closing =
                new ChannelInboundHandlerAdapter() {
                    private boolean closed;

                    @Override
                    public void channelRead(ChannelHandlerContext ctx, Object message) {
                        ((ByteBuf) message).release();
                        if (closed) {
                            readAfterClose.add(ctx.channel());
                        } else {
                            closed = true;
                            ctx.writeAndFlush(Unpooled.copyInt(7));
                            ctx.close();
                        }
                    }
                };
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        BlockingQueue<Channel> children = new LinkedBlockingQueue<>();
        try {
            Channel listener =
                    server(
                                    group,
                                    new ChannelInitializer<>() {
                                        @Override
                                        protected void initChannel(Channel channel) {
                                            channel.pipeline().addLast(closing);
                                            children.add(channel);
                                        }
                                    })
                            .bind(LOOPBACK, 0)
                            .sync()
                            .channel();
            Channel client = client(group).connect(listener.localAddress()).sync().channel();
            for (int i = 0; i < 16; i++) {
                client.write(Unpooled.copyInt(i));
            }
            client.flush();
            awaitClosed(children.poll(PATIENCE_SECONDS, TimeUnit.SECONDS));
            awaitClosed(client);
            assertThat(readAfterClose).isEmpty();
        } finally {
            shutDown(group);
        }
    }

    @Test
    void deregisteringAnActiveChannelClosesItAndSaysSo() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            BlockingQueue<String> events = new LinkedBlockingQueue<>();
            pair.client
                    .pipeline()
                    .addFirst(
                            new ChannelInboundHandlerAdapter() {
                                @Override
                                public void channelInactive(ChannelHandlerContext ctx) {
                                    events.add("inactive");
                                    ctx.fireChannelInactive();
                                }

                                @Override
                                public void channelUnregistered(ChannelHandlerContext ctx) {
                                    events.add("unregistered");
                                    ctx.fireChannelUnregistered();
                                }
                            });
            ChannelFuture write = pair.client.write(Unpooled.copyInt(1));
            pair.client.deregister().sync();
            awaitClosed(pair.client);
            assertThat(events).containsExactly("inactive", "unregistered");
            assertThat(write.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
            assertThat(write.isSuccess()).isFalse();
            awaitClosed(pair.server);
        }
    }

    @Test
    void optionsThatAChildSetsInItsInitializerHaveEffect() throws Exception {
        int messages = 300;
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        ConnectedPair.Inbox clientInbox = new ConnectedPair.Inbox();
        ConnectedPair.Inbox serverInbox = new ConnectedPair.Inbox();
        try {
            Channel listener =
                    server(
                                    group,
                                    new ChannelInitializer<RdmaChannel>() {
                                        @Override
                                        protected void initChannel(RdmaChannel channel) {
                                            channel.config().setSendDepth(messages);
                                            channel.pipeline().addLast(serverInbox);
                                        }
                                    })
                            .bind(LOOPBACK, 0)
                            .sync()
                            .channel();
            client(group)
                    .handler(ConnectedPair.initializer(clientInbox))
                    .option(RdmaChannelOption.RECEIVE_DEPTH, messages)
                    .connect(listener.localAddress())
                    .sync();
            RdmaChannel child =
                    (RdmaChannel) serverInbox.channels.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
            assertThatThrownBy(() -> child.config().setSendDepth(1))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("SEND_DEPTH")
                    .hasMessageContaining("initChannel");
            for (int i = 0; i < messages; i++) {
                child.write(Unpooled.copyInt(i));
            }
            child.writeAndFlush(Unpooled.EMPTY_BUFFER).sync();
            for (int i = 0; i < messages; i++) {
                ByteBuf message = clientInbox.take();
                assertThat(message.readInt()).isEqualTo(i);
                message.release();
            }
        } finally {
            shutDown(group);
            clientInbox.releaseAll();
            serverInbox.releaseAll();
        }
    }

    @Test
    void manyConnectAtOnce() throws Exception {
        int clients = 600;
        RdmaEventLoopGroup group = softwareGroup();
        try {
            Channel listener =
                    server(group, ConnectedPair.initializer(new ConnectedPair.Inbox()))
                            .childOption(RdmaChannelOption.RECEIVE_DEPTH, 1)
                            .bind(LOOPBACK, 0)
                            .sync()
                            .channel();
            Bootstrap bootstrap =
                    client(group)
                            .handler(ConnectedPair.initializer(new ConnectedPair.Inbox()))
                            .option(RdmaChannelOption.RECEIVE_DEPTH, 1)
                            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 0);
            List<ChannelFuture> connects = new ArrayList<>();
            for (int i = 0; i < clients; i++) {
                connects.add(bootstrap.connect(listener.localAddress()));
            }
            for (ChannelFuture connect : connects) {
                connect.sync();
            }
        } finally {
            shutDown(group);
        }
    }

    @Test
    void aSecondBindFailsAndLeavesNothingBehind() throws Exception {
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        try {
            Channel listener =
                    server(group, new ChannelInboundHandlerAdapter())
                            .bind(LOOPBACK, 0)
                            .sync()
                            .channel();
            Object address = listener.localAddress();
            ChannelFuture again = listener.bind(new InetSocketAddress(LOOPBACK, 0)).await();
            assertThat(again.cause()).isInstanceOf(AlreadyBoundException.class);
            assertThat(listener.localAddress()).isEqualTo(address);
            assertThat(listener.isActive()).isTrue();
        } finally {
            shutDown(group);
        }
    }

    /** A handler that is not sharable serves one child: the request of the next one was never answered. */
    @Test
    void aRequestWhoseChildCannotBeSetUpIsRefused() throws Exception {
        refuses(server -> server.childHandler(new ChannelInboundHandlerAdapter() {}), 1);
    }

    @Test
    void aRequestWhoseChildNobodyTakesIsRefused() throws Exception {
        refuses(server -> server.handler(new LastHandler()), 0);
    }

    @Test
    void aRequestWhoseChildNobodyTakesOnAnotherThreadIsRefused() throws Exception {
        DefaultEventExecutorGroup executors = new DefaultEventExecutorGroup(1);
        ChannelInitializer<Channel> last =
                new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel listener) {
                        listener.pipeline().addLast(executors, new LastHandler());
                    }
                };
        try {
            refuses(server -> server.handler(last), 0);
        } finally {
            executors.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        }
    }

    @Test
    void aChildThatWasTakenIsKeptWhateverFailsBehindThat() throws Exception {
        RdmaEventLoopGroup group = softwareGroup();
        try {
            Channel listener =
                    server(group, ConnectedPair.initializer(new ConnectedPair.Inbox()))
                            .handler(new FailingHandler())
                            .bind(LOOPBACK, 0)
                            .sync()
                            .channel();
            assertThat(connectWithoutLimit(group, listener).cause()).isNull();
        } finally {
            shutDown(group);
        }
    }

    /** Connects to a server of this kind until one connect more than the server can take has ended. */
    private static void refuses(Consumer<ServerBootstrap> kind, int taken) throws Exception {
        RdmaEventLoopGroup group = softwareGroup();
        ServerBootstrap server =
                server(group, ConnectedPair.initializer(new ConnectedPair.Inbox()));
        kind.accept(server);
        try {
            Channel listener = server.bind(LOOPBACK, 0).sync().channel();
            for (int i = 0; i < taken; i++) {
                assertThat(connectWithoutLimit(group, listener).cause()).isNull();
            }
            assertThat(connectWithoutLimit(group, listener).cause())
                    .isInstanceOf(ConnectException.class);
            assertThat(listener.isOpen()).isTrue();
        } finally {
            shutDown(group);
        }
    }

    /** Nothing but an answer ends it. */
    private static ChannelFuture connectWithoutLimit(RdmaEventLoopGroup group, Channel listener)
            throws InterruptedException {
        ChannelFuture connect =
                client(group)
                        .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 0)
                        .connect(listener.localAddress());
        assertThat(connect.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        return connect;
    }

    /** Hands children on to nobody: the one who would register them is taken away. */
    private static final class LastHandler extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object child) {
            ctx.pipeline().removeLast();
            ctx.fireChannelRead(child);
        }
    }

    /** Fails when all is done. */
    private static final class FailingHandler extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object child) {
            ctx.fireChannelRead(child);
            throw new IllegalStateException("a handler of the server channel fails");
        }
    }

    @Test
    void aServerChannelThatStopsReadingAcceptsNobody() throws Exception {
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        try {
            Channel listener =
                    server(group, new ChannelInboundHandlerAdapter() {})
                            .bind(LOOPBACK, 0)
                            .sync()
                            .channel();
            RdmaServerChannel channel = (RdmaServerChannel) listener;
            assertThat(on(listener, () -> channel.readPending)).isTrue();
            listener.config().setAutoRead(false);
            assertThat(on(listener, () -> channel.readPending)).isFalse();
            ChannelFuture connect = client(group).connect(listener.localAddress());
            listener.config().setAutoRead(true);
            connect.sync();
        } finally {
            shutDown(group);
        }
    }

    @Test
    void aServerChannelThatReadsOnceAcceptsNoMoreThanItsBound() throws Exception {
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        BlockingQueue<Integer> acceptedByRead = new LinkedBlockingQueue<>();
        ChannelInboundHandler counting =
                new ChannelInboundHandlerAdapter() {
                    private int accepted;

                    @Override
                    public void channelRead(ChannelHandlerContext ctx, Object child) {
                        accepted++;
                        ctx.fireChannelRead(child);
                    }

                    @Override
                    public void channelReadComplete(ChannelHandlerContext ctx) {
                        acceptedByRead.add(accepted);
                        accepted = 0;
                        ctx.fireChannelReadComplete();
                    }
                };
        try {
            Channel listener =
                    server(group, new ConnectedPair.Inbox())
                            .handler(counting)
                            .option(ChannelOption.AUTO_READ, false)
                            .option(
                                    ChannelOption.RCVBUF_ALLOCATOR,
                                    new FixedRecvByteBufAllocator(64).maxMessagesPerRead(1))
                            .bind(LOOPBACK, 0)
                            .sync()
                            .channel();
            ChannelFuture one = client(group).connect(listener.localAddress());
            ChannelFuture two = client(group).connect(listener.localAddress());
            for (int round = 0; round < 20; round++) {
                on(listener, listener::isActive); // so that both requests have come when it reads
            }
            listener.read();
            assertThat(acceptedByRead.take()).isEqualTo(1);
            listener.read();
            assertThat(acceptedByRead.take()).isEqualTo(1);
            one.sync();
            two.sync();
        } finally {
            shutDown(group);
        }
    }

    @Test
    void aServerChannelMovesToAnotherLoop() throws Exception {
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        RdmaEventLoopGroup other = new RdmaEventLoopGroup(1);
        try {
            Channel listener =
                    server(group, new ChannelInboundHandlerAdapter() {})
                            .bind(LOOPBACK, 0)
                            .sync()
                            .channel();
            Object address = listener.localAddress();
            listener.deregister().sync();
            other.register(listener).sync();
            assertThat(listener.localAddress()).isEqualTo(address);
            client(group).connect(listener.localAddress()).sync();
        } finally {
            shutDown(group);
            shutDown(other);
        }
    }

    @Test
    void theChannelsConnectTimeoutIsTheOnlyOne() throws Exception {
        IwarpConfig impatient =
                IwarpConfig.builder().initiatorTimeout(Duration.ofMillis(1)).build();
        RdmaEventLoopGroup group =
                new RdmaEventLoopGroup(1, new IwarpProvider(impatient), PollMode.ADAPTIVE);
        try (ServerSocket silent = new ServerSocket(0, 10, LOOPBACK)) {
            ChannelFuture connect =
                    client(group)
                            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 100)
                            .connect(silent.getLocalSocketAddress())
                            .await();
            assertThat(connect.cause())
                    .isInstanceOf(ConnectTimeoutException.class)
                    .hasMessageContaining("100 ms");
        } finally {
            shutDown(group);
        }
    }

    @Test
    void aListenerSaysInOneSentenceWhichAddressItCannotHave() throws Exception {
        RdmaEventLoopGroup group = softwareGroup();
        try (ServerSocket user = new ServerSocket(0, 1, LOOPBACK)) {
            SocketAddress taken = user.getLocalSocketAddress();
            ChannelFuture bind =
                    server(group, new ChannelInboundHandlerAdapter()).bind(taken).await();
            assertThat(bind.cause())
                    .isInstanceOf(BindException.class)
                    .hasMessageStartingWith("Cannot listen at " + taken + ": ")
                    .hasMessageContaining("the port has to be free");
        } finally {
            shutDown(group);
        }
    }

    @Test
    void aPortInUseFailsToBind() throws Exception {
        RdmaEventLoopGroup group = softwareGroup();
        try (ServerSocket user = new ServerSocket(0, 1, LOOPBACK)) {
            Channel client = client(group).register().sync().channel();
            ChannelFuture bind = client.bind(user.getLocalSocketAddress()).await();
            assertThat(bind.cause())
                    .isInstanceOf(BindException.class)
                    .hasMessageStartingWith("Cannot connect from " + user.getLocalSocketAddress())
                    .hasMessageContaining("the port has to be free");
            assertThat(client.localAddress()).isNull();
        } finally {
            shutDown(group);
        }
    }

    @Test
    void aBoundChannelKnowsItsPortAndConnectsFromThere() throws Exception {
        RdmaEventLoopGroup group = softwareGroup();
        ConnectedPair.Inbox inbox = new ConnectedPair.Inbox();
        try {
            Channel listener =
                    server(group, ConnectedPair.initializer(inbox))
                            .bind(LOOPBACK, 0)
                            .sync()
                            .channel();
            Channel client = client(group).register().sync().channel();
            client.bind(new InetSocketAddress(LOOPBACK, 0)).sync();
            InetSocketAddress bound = (InetSocketAddress) client.localAddress();
            assertThat(bound.getPort()).isPositive();
            ChannelFuture again = client.bind(new InetSocketAddress(LOOPBACK, 0)).await();
            assertThat(again.cause()).isInstanceOf(AlreadyBoundException.class);
            client.connect(listener.localAddress()).sync();
            Channel child = inbox.channels.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
            assertThat(child.remoteAddress()).isEqualTo(bound);
        } finally {
            shutDown(group);
        }
    }

    @Test
    void aForeignAddressIsRefusedInOneSentence() throws Exception {
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        LocalAddress foreign = new LocalAddress("elsewhere");
        try {
            Channel client = client(group).register().sync().channel();
            Channel server =
                    server(group, new ChannelInboundHandlerAdapter()).register().sync().channel();
            for (ChannelFuture refused :
                    List.of(client.bind(foreign), server.bind(foreign), client.connect(foreign))) {
                assertThat(refused.await().cause())
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("elsewhere")
                        .hasMessageContaining("InetSocketAddress");
            }
        } finally {
            shutDown(group);
        }
    }

    /** Devices register memory that can be written; from 16 KiB on it is registered, not copied. */
    @ParameterizedTest
    @ValueSource(ints = {100, 16 << 10, 40_000})
    void readOnlyMemoryIsCopied(int length) throws Exception {
        byte[] data = new byte[length];
        new Random(length).nextBytes(data);
        try (ConnectedPair pair =
                new ConnectedPair(
                        client -> client.option(RdmaChannelOption.MAX_SEND_SIZE, 1 << 16),
                        server -> server.childOption(RdmaChannelOption.RECEIVE_SIZE, 1 << 16))) {
            ByteBuffer memory = ByteBuffer.allocateDirect(length).put(data).flip();
            ByteBuf direct = Unpooled.directBuffer(length).writeBytes(data);
            for (ByteBuf buffer :
                    List.of(
                            Unpooled.wrappedBuffer(memory.asReadOnlyBuffer()),
                            Unpooled.unreleasableBuffer(direct).asReadOnly(),
                            composite(direct.retain().asReadOnly()),
                            composite(direct.retain().asReadOnly()).slice())) {
                pair.client.writeAndFlush(buffer).sync();
                assertThat(pair.serverInbox.takeBytes()).isEqualTo(data);
            }
            assertThat(on(pair.client, () -> isExposedInPlace(pair.client, direct))).isTrue();
            for (ByteBuf readOnly :
                    List.of(direct.asReadOnly(), composite(direct.retain().asReadOnly()))) {
                assertThat(on(pair.client, () -> isExposedInPlace(pair.client, readOnly)))
                        .isFalse();
                assertThatThrownBy(
                                () ->
                                        on(
                                                pair.client,
                                                () ->
                                                        pair.client.expose(
                                                                readOnly, 0, 1, RemoteAccess.READ)))
                        .hasRootCauseInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("read-only");
                assertThatThrownBy(
                                () ->
                                        pair.client
                                                .writeAndFlush(
                                                        new RdmaRead(readOnly.retain(), 1, 0))
                                                .sync())
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("writable");
                readOnly.release();
            }
        }
    }

    /** Of the pool, too, which is registered already. */
    @Test
    void noPeerWritesReadOnlyMemory() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            on(
                    pair.client,
                    () -> {
                        ByteBuf pooled = pair.client.registeredBuffer(100).writeZero(100);
                        ByteBuf readOnly = composite(pooled.asReadOnly());
                        assertThatThrownBy(
                                        () ->
                                                pair.client.expose(
                                                        readOnly, 0, 1, RemoteAccess.WRITE))
                                .isInstanceOf(IllegalArgumentException.class)
                                .hasMessageContaining("read-only");
                        readOnly.release();
                        return null;
                    });
        }
    }

    /** Neither a composite buffer nor a slice of one says that its memory is read-only. */
    private static ByteBuf composite(ByteBuf component) {
        return Unpooled.compositeBuffer().addComponent(true, component);
    }

    private static boolean isExposedInPlace(RdmaChannel channel, ByteBuf buffer) {
        return ChannelInternals.of(channel).exposesInPlace(buffer, 0, buffer.readableBytes());
    }

    @Test
    void methodsOfTheEventLoopSaySoElsewhere() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            ByteBuf memory = Unpooled.directBuffer(8).writeLong(0);
            List<ThrowingCallable> calls =
                    List.of(
                            () -> pair.client.registeredBuffer(1),
                            () -> pair.client.registeredBytesInUse(),
                            () -> pair.client.expose(memory, 0, 8, RemoteAccess.READ),
                            () -> ChannelInternals.of(pair.client).exposesInPlace(memory, 0, 8),
                            () -> pair.client.exposedOffset(1),
                            () -> pair.client.isExposed(1),
                            () -> pair.client.invalidate(1),
                            () -> ChannelInternals.of(pair.client).keptReceives(),
                            () -> ChannelInternals.of(pair.client).keepReceives(1));
            for (ThrowingCallable call : calls) {
                assertThatThrownBy(call)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining(Thread.currentThread().getName())
                        .hasMessageContaining("eventLoop()");
            }
            memory.release();
        }
    }

    /** On devices that have the memory of receives beforehand it would be nobody's. */
    @Test
    void aClosedChannelPostsNoReceives() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            RdmaChannel channel = pair.client;
            int kept = on(channel, () -> ChannelInternals.of(channel).keepReceives(2));
            channel.close().sync();
            long inUse = on(channel, channel::registeredBytesInUse);
            assertThat(on(channel, () -> ChannelInternals.of(channel).keepReceives(20)))
                    .isEqualTo(kept);
            assertThat(on(channel, channel::registeredBytesInUse)).isEqualTo(inUse).isZero();
            assertThat(on(channel, ChannelInternals.of(channel)::keptReceives)).isEqualTo(kept);
        }
    }

    @Test
    void aChannelWithoutAConnectionSaysSo() throws Exception {
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        try {
            RdmaChannel channel = new RdmaChannel();
            group.register(channel).sync();
            List<Callable<?>> calls =
                    List.of(
                            ChannelInternals.of(channel)::keptReceives,
                            () -> ChannelInternals.of(channel).keepReceives(1),
                            () -> channel.exposedOffset(1));
            for (Callable<?> call : calls) {
                assertThatThrownBy(() -> on(channel, call))
                        .hasCauseInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("before there is a connection");
            }
        } finally {
            group.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
        }
    }

    /** A child is bound: another queue pair would be lost when its request is answered. */
    @Test
    void aChildThatIsNotAcceptedYetIsBound() throws Exception {
        BlockingQueue<ChannelFuture> bound = new LinkedBlockingQueue<>();
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        try {
            Channel listener =
                    new ServerBootstrap()
                            .group(group)
                            .channel(RdmaServerChannel.class)
                            .childHandler(
                                    new ChannelInitializer<>() {
                                        @Override
                                        protected void initChannel(Channel child) {
                                            bound.add(child.bind(any));
                                        }
                                    })
                            .bind(any)
                            .sync()
                            .channel();
            Channel client =
                    new Bootstrap()
                            .group(group)
                            .channel(RdmaChannel.class)
                            .handler(new ChannelInboundHandlerAdapter())
                            .connect(listener.localAddress())
                            .sync()
                            .channel();
            assertThat(bound.take().await().cause()).isInstanceOf(AlreadyBoundException.class);
            assertThat(client.isActive()).isTrue();
        } finally {
            group.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
        }
    }

    @Test
    @Proves("V1-INL-10")
    void withoutBetterKnowledgeAPeerTakesNoMoreThanThisEnd() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            assertThat(pair.client.config().getMaxSendSize())
                    .isEqualTo(pair.client.config().getReceiveSize());
            ChannelFuture write = pair.client.writeAndFlush(Unpooled.wrappedBuffer(new byte[5000]));
            assertThat(write.await().cause())
                    .isInstanceOf(MessageTooLongException.class)
                    .hasMessageContaining("5000 bytes")
                    .hasMessageContaining("MAX_SEND_SIZE");
            pair.client.writeAndFlush(Unpooled.copyInt(1)).sync();
            assertThat(pair.serverInbox.takeBytes()).hasSize(4);
        }
    }

    @Test
    void settersAreChained() {
        RdmaChannelConfig config =
                new RdmaChannel()
                        .config()
                        .setReceiveSize(2048)
                        .setReceiveDepth(3)
                        .setSendDepth(4)
                        .setReadDepth(5)
                        .setMaxSendSize(6)
                        .setDrainMillis(7)
                        .setReadTimeoutMillis(12)
                        .setIncompleteBytesPerAddress(13)
                        .setPrivateData(new byte[] {8})
                        .setPeerPrivateData(new byte[] {9})
                        .setRegistrationPolicy(RegistrationPolicy.POOLED)
                        .setAutoRead(false)
                        .setConnectTimeoutMillis(10);
        assertThat(config.getOptions())
                .containsEntry(RdmaChannelOption.RECEIVE_SIZE, 2048)
                .containsEntry(RdmaChannelOption.RECEIVE_DEPTH, 3)
                .containsEntry(RdmaChannelOption.SEND_DEPTH, 4)
                .containsEntry(RdmaChannelOption.READ_DEPTH, 5)
                .containsEntry(RdmaChannelOption.MAX_SEND_SIZE, 6)
                .containsEntry(RdmaChannelOption.DRAIN_MILLIS, 7)
                .containsEntry(RdmaChannelOption.READ_TIMEOUT_MILLIS, 12)
                .containsEntry(RdmaChannelOption.INCOMPLETE_BYTES_PER_ADDRESS, 13L)
                .containsEntry(RdmaChannelOption.PRIVATE_DATA, new byte[] {8})
                .containsEntry(RdmaChannelOption.PEER_PRIVATE_DATA, new byte[] {9})
                .containsEntry(RdmaChannelOption.REGISTRATION, RegistrationPolicy.POOLED)
                .containsEntry(ChannelOption.AUTO_READ, false)
                .containsEntry(ChannelOption.CONNECT_TIMEOUT_MILLIS, 10);
        assertThat(new RdmaServerChannel().config().setBacklog(11).setAutoRead(false).getBacklog())
                .isEqualTo(11);
    }

    @Test
    void optionsOfTcpSocketsAreAccepted() {
        for (ChannelConfig config :
                List.of(new RdmaChannel().config(), new RdmaServerChannel().config())) {
            assertThat(config.setOption(ChannelOption.TCP_NODELAY, true)).isTrue();
            assertThat(config.setOption(ChannelOption.SO_KEEPALIVE, false)).isTrue();
            assertThat(config.setOption(ChannelOption.SO_REUSEADDR, true)).isTrue();
            assertThat(config.getOption(ChannelOption.SO_REUSEADDR)).isTrue();
        }
    }
}
