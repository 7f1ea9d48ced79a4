// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.io;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoEventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.local.LocalChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.DatagramPacket;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultEventExecutorGroup;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.channel.Rdma;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaCounter;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaEventLoopGroupStatistics;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.channel.RdmaServerStreamChannel;
import org.rpcrdma.channel.RdmaStreamChannel;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.VerbsProvider;

/** RDMA channels, and NIO channels beside them, on event loops of Netty 4.2. */
class RdmaIoHandlerTest {

    /** Long enough for any machine; nothing is measured by it. */
    private static final long PATIENCE_SECONDS = 30;

    private final EventLoopGroup group =
            new MultiThreadIoEventLoopGroup(2, RdmaIoHandler.newFactory());

    private final BlockingQueue<String> received = new LinkedBlockingQueue<>();

    @AfterEach
    void end() throws InterruptedException {
        shutDown(group);
    }

    private static void shutDown(EventLoopGroup group) throws InterruptedException {
        assertThat(
                        group.shutdownGracefully(0, 0, TimeUnit.SECONDS)
                                .await(PATIENCE_SECONDS, TimeUnit.SECONDS))
                .isTrue();
    }

    /** Collects what arrives as text; a server's also answers. */
    private ChannelInitializer<Channel> inbox(boolean answers) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline()
                        .addLast(
                                new SimpleChannelInboundHandler<ByteBuf>() {
                                    @Override
                                    protected void channelRead0(
                                            ChannelHandlerContext context, ByteBuf message) {
                                        if (answers) {
                                            context.writeAndFlush(message.retain());
                                        } else {
                                            received.add(text(message));
                                        }
                                    }
                                });
            }
        };
    }

    private static String text(ByteBuf message) {
        return new String(ByteBufUtil.getBytes(message), java.nio.charset.StandardCharsets.UTF_8);
    }

    private static ByteBuf bytes(String text) {
        return ByteBufUtil.writeUtf8(UnpooledByteBufAllocator.DEFAULT, text);
    }

    private Channel listen(EventLoopGroup loops, Class<? extends ServerChannel> type)
            throws InterruptedException {
        return new ServerBootstrap()
                .group(loops)
                .channel(type)
                .childHandler(inbox(true))
                .bind(InetAddress.getLoopbackAddress(), 0)
                .sync()
                .channel();
    }

    private Channel connect(EventLoopGroup loops, Class<? extends Channel> type, Channel listener)
            throws InterruptedException {
        return new Bootstrap()
                .group(loops)
                .channel(type)
                .handler(inbox(false))
                .connect(listener.localAddress())
                .sync()
                .channel();
    }

    private void echo(
            EventLoopGroup loops,
            Class<? extends ServerChannel> server,
            Class<? extends Channel> client)
            throws InterruptedException {
        Channel listener = listen(loops, server);
        Channel channel = connect(loops, client, listener);
        for (int i = 0; i < 100; i++) {
            channel.writeAndFlush(bytes("message " + i));
            assertThat(received.poll(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo("message " + i);
        }
        channel.close().sync();
        listener.close().sync();
    }

    @ParameterizedTest
    @EnumSource(PollMode.class)
    void messagesArriveInEveryMode(PollMode mode) throws Exception {
        EventLoopGroup loops =
                new MultiThreadIoEventLoopGroup(1, RdmaIoHandler.newFactory(Rdma.provider(), mode));
        echo(loops, RdmaServerChannel.class, RdmaChannel.class);
        shutDown(loops);
    }

    @Test
    void messagesArriveFromOneLoopAtAnother() throws Exception {
        echo(group, RdmaServerChannel.class, RdmaChannel.class);
    }

    @Test
    void streamsCarryBytes() throws Exception {
        echo(group, RdmaServerStreamChannel.class, RdmaStreamChannel.class);
    }

    @Test
    void loopsOfBothKindsSpeakToEachOther() throws Exception {
        EventLoopGroup own = new RdmaEventLoopGroup(1);
        Channel listener = listen(own, RdmaServerChannel.class);
        Channel channel = connect(group, RdmaChannel.class, listener);
        channel.writeAndFlush(bytes("over"));
        assertThat(received.poll(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo("over");
        shutDown(own);
    }

    @Test
    void aLoopThatBlocksIsWokenByTasksAndTimers() throws Exception {
        EventLoopGroup loops =
                new MultiThreadIoEventLoopGroup(
                        1, RdmaIoHandler.newFactory(Rdma.provider(), PollMode.BLOCKING));
        RdmaEventLoopGroupStatistics statistics = RdmaEventLoopGroupStatistics.of(loops);
        assertThat(loops.submit(() -> 1).get(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo(1);
        await().until(() -> statistics.value(RdmaCounter.SLEEPS) > 0);
        assertThat(loops.submit(() -> 2).get(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo(2);
        assertThat(
                        loops.schedule(() -> 3, 20, TimeUnit.MILLISECONDS)
                                .get(PATIENCE_SECONDS, TimeUnit.SECONDS))
                .isEqualTo(3);
        assertThat(statistics.value(RdmaCounter.FAILED_ROUNDS)).isZero();
        shutDown(loops);
    }

    @Test
    void channelsAreCountedWhileTheyAreRegistered() throws Exception {
        RdmaEventLoopGroupStatistics statistics = RdmaEventLoopGroupStatistics.of(group);
        Channel listener = listen(group, RdmaServerChannel.class);
        Channel channel = connect(group, RdmaChannel.class, listener);
        await().until(() -> statistics.registeredChannels() == 3);
        channel.writeAndFlush(bytes("counted"));
        assertThat(received.poll(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo("counted");
        assertThat(statistics.registeredBytes()).isPositive();
        assertThat(statistics.postedReceives()).isNotNegative();
        channel.close().sync();
        listener.close().sync();
        await().until(() -> statistics.registeredChannels() == 0);
        assertThat(RdmaEventLoopGroupStatistics.of(group)).isEqualTo(statistics);
    }

    @Test
    void aChannelCanMoveToAnotherLoopBeforeItConnects() throws Exception {
        Channel listener = listen(group, RdmaServerChannel.class);
        RdmaChannel channel = new RdmaChannel();
        channel.pipeline().addLast(inbox(false));
        group.next().register(channel).sync();
        channel.deregister().sync();
        group.next().register(channel).sync();
        channel.connect(listener.localAddress()).sync();
        channel.writeAndFlush(bytes("moved"));
        assertThat(received.poll(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo("moved");
    }

    /** The loop does not wait for its handler then, and runs no timers. */
    @Test
    void aShutdownWithoutQuietPeriodDeliversWhatWasWritten() throws Exception {
        EventLoopGroup servers = new MultiThreadIoEventLoopGroup(1, RdmaIoHandler.newFactory());
        Channel listener =
                new ServerBootstrap()
                        .group(servers)
                        .channel(RdmaServerChannel.class)
                        .childHandler(inbox(false))
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .sync()
                        .channel();
        Channel channel = connect(group, RdmaChannel.class, listener);
        CountDownLatch inactive = new CountDownLatch(1);
        channel.pipeline()
                .addLast(
                        new ChannelInboundHandlerAdapter() {
                            @Override
                            public void channelInactive(ChannelHandlerContext context) {
                                inactive.countDown();
                            }
                        });
        ChannelFuture last = null;
        for (int i = 0; i < 50; i++) {
            last = channel.write(bytes("m" + i));
        }
        channel.eventLoop().submit(channel::flush).sync();
        shutDown(group);
        assertThat(last.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(last.isSuccess()).isTrue();
        for (int i = 0; i < 50; i++) {
            assertThat(received.poll(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo("m" + i);
        }
        assertThat(inactive.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(channel.isRegistered()).isFalse();
        shutDown(servers);
    }

    /** Netty's loop does not have its handler prepare for the end then. */
    @Test
    void aShutdownByATaskOfTheLoopDeliversWhatWasWritten() throws Exception {
        EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, RdmaIoHandler.newFactory());
        Channel listener =
                new ServerBootstrap()
                        .group(group)
                        .channel(RdmaServerChannel.class)
                        .childHandler(inbox(false))
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .sync()
                        .channel();
        Channel channel = connect(loops, RdmaChannel.class, listener);
        loops.submit(
                        () -> {
                            channel.writeAndFlush(bytes("last"));
                            loops.shutdownGracefully(0, 0, TimeUnit.SECONDS);
                        })
                .sync();
        assertThat(loops.terminationFuture().await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(channel.isOpen()).isFalse();
        assertThat(channel.isRegistered()).isFalse();
        assertThat(received.poll(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo("last");
    }

    @Test
    void aShutdownWithAQuietPeriodEndsToo() throws Exception {
        EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, RdmaIoHandler.newFactory());
        Channel listener = listen(loops, RdmaServerChannel.class);
        connect(loops, RdmaChannel.class, listener);
        assertThat(
                        loops.shutdownGracefully(1, 1000, TimeUnit.MILLISECONDS)
                                .await(PATIENCE_SECONDS, TimeUnit.SECONDS))
                .isTrue();
        assertThat(listener.isOpen()).isFalse();
    }

    /** The statistics of loops outlive them; a terminated loop takes no channels. */
    @Test
    void aTerminatedGroupTakesNoChannels() throws Exception {
        EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, RdmaIoHandler.newFactory());
        RdmaEventLoopGroupStatistics statistics = RdmaEventLoopGroupStatistics.of(loops);
        echo(loops, RdmaServerChannel.class, RdmaChannel.class);
        shutDown(loops);
        assertThat(statistics.value(RdmaCounter.WORK)).isPositive();
        assertThat(statistics.registeredBytes()).isZero();
        assertThatThrownBy(() -> RdmaEventLoopGroupStatistics.of(loops))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void aGroupOfAnotherTransportIsNamed() throws Exception {
        EventLoopGroup others = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        assertThatThrownBy(() -> RdmaEventLoopGroupStatistics.of(others))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("RdmaIoHandler.newFactory()");
        ChannelFuture registered = others.register(new RdmaChannel());
        assertThat(registered.await().cause())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("give the bootstrap an RdmaEventLoopGroup");
        shutDown(others);
    }

    @Test
    void onlyAnIoEventLoopGetsAHandler() throws Exception {
        var executors = new DefaultEventExecutorGroup(1);
        var factory = RdmaIoHandler.newFactory();
        assertThatThrownBy(
                        () ->
                                factory.newHandler(
                                        (io.netty.util.concurrent.ThreadAwareExecutor)
                                                executors.next()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("expected: an IoEventLoop");
        executors.shutdownGracefully(0, 0, TimeUnit.SECONDS).sync();
    }

    // ------------------------------------------------------------------ NIO

    @Test
    void nioChannelsRunBesideRdmaChannels() throws Exception {
        EventLoopGroup loops =
                new MultiThreadIoEventLoopGroup(
                        1, RdmaIoHandler.newFactory(Rdma.provider(), PollMode.BLOCKING));
        Channel listener = listen(loops, RdmaServerChannel.class);
        Channel channel = connect(loops, RdmaChannel.class, listener);
        Channel datagrams =
                new Bootstrap()
                        .group(loops)
                        .channel(NioDatagramChannel.class)
                        .handler(
                                new SimpleChannelInboundHandler<DatagramPacket>() {
                                    @Override
                                    protected void channelRead0(
                                            ChannelHandlerContext context, DatagramPacket packet) {
                                        received.add(text(packet.content()));
                                    }
                                })
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .sync()
                        .channel();
        for (int i = 0; i < 20; i++) {
            datagrams.writeAndFlush(
                    new DatagramPacket(
                            bytes("datagram"), (InetSocketAddress) datagrams.localAddress()));
            assertThat(received.poll(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo("datagram");
            channel.writeAndFlush(bytes("message"));
            assertThat(received.poll(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo("message");
        }
        datagrams.close().sync();
        echo(loops, NioServerSocketChannel.class, NioSocketChannel.class);
        shutDown(loops);
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void aShutdownClosesNioChannels() throws Exception {
        Channel listener = listen(group, NioServerSocketChannel.class);
        Channel channel = connect(group, NioSocketChannel.class, listener);
        shutDown(group);
        assertThat(listener.isOpen()).isFalse();
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void otherTransportsAreNotTaken() throws Exception {
        assertThat(((IoEventLoop) group.next()).isIoType(RdmaIoHandler.class)).isTrue();
        ChannelFuture registered = group.register(new LocalChannel());
        assertThat(registered.await().cause())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("need an event loop group of their own");
    }

    // ------------------------------------------------------------------ failures

    /** Deadlines are tasks. Those of calls that a broken device holds up have to pass all the same. */
    @Test
    void tasksAndTimersRunWhateverTheDeviceDoes() throws Exception {
        for (String broken : new String[] {"poll", "await"}) {
            AtomicBoolean fails = new AtomicBoolean();
            EventLoopGroup loops =
                    new MultiThreadIoEventLoopGroup(
                            1, RdmaIoHandler.newFactory(failing(broken, fails), PollMode.BLOCKING));
            RdmaEventLoopGroupStatistics statistics = RdmaEventLoopGroupStatistics.of(loops);
            fails.set(true);
            assertThat(loops.submit(() -> 1).get(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo(1);
            assertThat(
                            loops.schedule(() -> 2, 1, TimeUnit.NANOSECONDS)
                                    .get(PATIENCE_SECONDS, TimeUnit.SECONDS))
                    .isEqualTo(2);
            // More than three failures begin a pause, in which tasks are run all the same.
            await().until(() -> statistics.value(RdmaCounter.FAILED_ROUNDS) >= 4);
            assertThat(loops.submit(() -> 3).get(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo(3);
            fails.set(false);
            shutDown(loops);
        }
    }

    /** A device one of whose methods fails as soon as it is told to. */
    private static VerbsProvider failing(String method, AtomicBoolean fails) {
        VerbsProvider real = Rdma.provider();
        return (VerbsProvider)
                Proxy.newProxyInstance(
                        RdmaIoHandlerTest.class.getClassLoader(),
                        new Class<?>[] {VerbsProvider.class},
                        (self, called, arguments) -> {
                            Object result = invoke(called, real, arguments);
                            return result instanceof EventLoopVerbsContext context
                                    ? failing(context, method, fails)
                                    : result;
                        });
    }

    private static EventLoopVerbsContext failing(
            EventLoopVerbsContext real, String method, AtomicBoolean fails) {
        return (EventLoopVerbsContext)
                Proxy.newProxyInstance(
                        RdmaIoHandlerTest.class.getClassLoader(),
                        new Class<?>[] {EventLoopVerbsContext.class},
                        (self, called, arguments) -> {
                            if (fails.get() && called.getName().equals(method)) {
                                throw new InternalError("of the test");
                            }
                            return invoke(called, real, arguments);
                        });
    }

    private static Object invoke(java.lang.reflect.Method method, Object target, Object[] arguments)
            throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
