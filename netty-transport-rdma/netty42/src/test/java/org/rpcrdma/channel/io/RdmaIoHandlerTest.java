// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.io;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelConfig;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoHandler;
import io.netty.channel.IoHandlerContext;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.RecvByteBufAllocator;
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
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
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
        return listen(loops, type, true);
    }

    private Channel listen(
            EventLoopGroup loops, Class<? extends ServerChannel> type, boolean answers)
            throws InterruptedException {
        return new ServerBootstrap()
                .group(loops)
                .channel(type)
                .childHandler(inbox(answers))
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

    private void assertReceived(String text) throws InterruptedException {
        assertThat(received.poll(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo(text);
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
            assertReceived("message " + i);
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
        assertReceived("over");
        shutDown(own);
    }

    private static void assertRunsATask(EventLoopGroup loops) throws Exception {
        assertThat(loops.submit(() -> 1).get(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo(1);
    }

    private static void assertRunsATimer(EventLoopGroup loops, long nanos) throws Exception {
        assertThat(
                        loops.schedule(() -> 1, nanos, TimeUnit.NANOSECONDS)
                                .get(PATIENCE_SECONDS, TimeUnit.SECONDS))
                .isEqualTo(1);
    }

    @Test
    void aLoopThatBlocksIsWokenByTasksAndTimers() throws Exception {
        EventLoopGroup loops =
                new MultiThreadIoEventLoopGroup(
                        1, RdmaIoHandler.newFactory(Rdma.provider(), PollMode.BLOCKING));
        RdmaEventLoopGroupStatistics statistics = RdmaEventLoopGroupStatistics.of(loops);
        assertRunsATask(loops);
        await().until(() -> statistics.value(RdmaCounter.SLEEPS) > 0);
        assertRunsATask(loops);
        assertRunsATimer(loops, TimeUnit.MILLISECONDS.toNanos(20));
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
        assertReceived("counted");
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
        assertReceived("moved");
    }

    /** The loop does not wait for its handler then, and runs no timers. */
    @Test
    void aShutdownWithoutQuietPeriodDeliversWhatWasWritten() throws Exception {
        EventLoopGroup servers = new MultiThreadIoEventLoopGroup(1, RdmaIoHandler.newFactory());
        Channel listener = listen(servers, RdmaServerChannel.class, false);
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
            assertReceived("m" + i);
        }
        assertThat(inactive.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(channel.isRegistered()).isFalse();
        shutDown(servers);
    }

    /** Netty's loop does not have its handler prepare for the end then. */
    @Test
    void aShutdownByATaskOfTheLoopDeliversWhatWasWritten() throws Exception {
        EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, RdmaIoHandler.newFactory());
        Channel listener = listen(group, RdmaServerChannel.class, false);
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
        assertReceived("last");
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

    /** The device completes nothing, and the loop runs no task while it waits. */
    @Test
    void aShutdownDoesNotWaitAsLongAsAChannelMayLinger() throws Exception {
        AtomicBoolean isStill = new AtomicBoolean();
        VerbsProvider device = clocked(0, TimeUnit.MILLISECONDS.toNanos(20), isStill);
        EventLoopGroup loops =
                new MultiThreadIoEventLoopGroup(
                        1, RdmaIoHandler.newFactory(device, PollMode.BLOCKING));
        Channel listener = listen(group, RdmaServerStreamChannel.class);
        Channel channel = connect(loops, RdmaStreamChannel.class, listener);
        channel.config().setOption(ChannelOption.SO_LINGER, Integer.MAX_VALUE);
        isStill.set(true);
        shutDown(loops);
        assertThat(channel.isOpen()).isFalse();
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

    /** A channel that collects what arrives. */
    @SuppressWarnings("deprecation") // of Netty 4.2, not of 4.1
    private Channel bindDatagrams(EventLoopGroup loops, RecvByteBufAllocator allocator)
            throws InterruptedException {
        return new Bootstrap()
                .group(loops)
                .channel(NioDatagramChannel.class)
                .option(ChannelOption.RCVBUF_ALLOCATOR, allocator)
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
    }

    private static void sendToItself(Channel datagrams) {
        datagrams.writeAndFlush(
                new DatagramPacket(
                        bytes("datagram"), (InetSocketAddress) datagrams.localAddress()));
    }

    @Test
    @SuppressWarnings("deprecation") // of Netty 4.2, not of 4.1
    void nioChannelsRunBesideRdmaChannels() throws Exception {
        EventLoopGroup loops =
                new MultiThreadIoEventLoopGroup(
                        1, RdmaIoHandler.newFactory(Rdma.provider(), PollMode.BLOCKING));
        Channel listener = listen(loops, RdmaServerChannel.class);
        Channel channel = connect(loops, RdmaChannel.class, listener);
        Channel datagrams = bindDatagrams(loops, new FixedRecvByteBufAllocator(100));
        for (int i = 0; i < 20; i++) {
            sendToItself(datagrams);
            assertReceived("datagram");
            channel.writeAndFlush(bytes("message"));
            assertReceived("message");
        }
        datagrams.close().sync();
        echo(loops, NioServerSocketChannel.class, NioSocketChannel.class);
        shutDown(loops);
        assertThat(channel.isOpen()).isFalse();
    }

    /** Netty's handler throws errors, which end the thread of a loop. Here RDMA channels would end with it. */
    @Test
    @SuppressWarnings("deprecation") // of Netty 4.2, not of 4.1
    void anErrorOfANioChannelEndsNoLoop() throws Exception {
        EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, RdmaIoHandler.newFactory());
        AtomicInteger failures = new AtomicInteger();
        AtomicBoolean isMended = new AtomicBoolean();
        CountDownLatch hasFailed = new CountDownLatch(1);
        RecvByteBufAllocator allocator =
                new FixedRecvByteBufAllocator(100) {
                    @Override
                    public Handle newHandle() {
                        Handle real = super.newHandle();
                        return new DelegatingHandle(real) {
                            @Override
                            public void reset(ChannelConfig config) {
                                if (!isMended.get()) {
                                    failures.incrementAndGet();
                                    hasFailed.countDown();
                                    throw new OutOfMemoryError("of the test");
                                }
                                super.reset(config);
                            }
                        };
                    }
                };
        Channel listener = listen(loops, RdmaServerChannel.class);
        Channel channel = connect(loops, RdmaChannel.class, listener);
        Channel datagrams = bindDatagrams(loops, allocator);
        final long start = System.nanoTime();
        sendToItself(datagrams);
        assertThat(hasFailed.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        for (int i = 0; i < 100; i++) {
            channel.writeAndFlush(bytes("message"));
            assertReceived("message");
        }
        // However often it fails, there is a pause after each time.
        int count = failures.get();
        assertThat(count)
                .isLessThanOrEqualTo(
                        1 + (int) TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start));
        isMended.set(true);
        assertReceived("datagram");
        shutDown(loops);
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

    // ------------------------------------------------------------------ time

    /** Netty bounds the time for tasks by it, and takes a loop without any for idle. */
    @Test
    void theTimeOfAWaitIsNotReportedAsActive() throws Exception {
        assumeTrue(
                Stream.of(IoHandlerContext.class.getMethods())
                        .anyMatch(method -> method.getName().equals("reportActiveIoTime")));
        Queue<Long> reported = new ConcurrentLinkedQueue<>();
        VerbsProvider device = clocked(7, TimeUnit.HOURS.toNanos(1), new AtomicBoolean());
        EventLoopGroup loops =
                new MultiThreadIoEventLoopGroup(
                        1,
                        executor ->
                                changed(
                                        IoHandler.class,
                                        RdmaIoHandler.newFactory(device, PollMode.BLOCKING)
                                                .newHandler(executor),
                                        (method, arguments) -> {
                                            if (method.equals("run")) {
                                                arguments[0] =
                                                        reporting(
                                                                (IoHandlerContext) arguments[0],
                                                                reported);
                                            }
                                            return null;
                                        }));
        echo(loops, RdmaServerChannel.class, RdmaChannel.class);
        shutDown(loops);
        assertThat(reported).contains(0L, 7L).allMatch(nanos -> nanos == 0 || nanos == 7);
    }

    private static IoHandlerContext reporting(IoHandlerContext real, Queue<Long> reported) {
        return changed(
                IoHandlerContext.class,
                real,
                (method, arguments) -> {
                    if (method.equals("reportActiveIoTime")) {
                        reported.add((Long) arguments[0]);
                    }
                    return method.equals("shouldReportActiveIoTime") ? true : null;
                });
    }

    /**
     * A device on whose clock each poll and each wait take as long.
     *
     * @param isStill whether polls find nothing
     */
    private static VerbsProvider clocked(long pollNanos, long waitNanos, AtomicBoolean isStill) {
        AtomicLong clock = new AtomicLong();
        return device(
                (method, arguments) ->
                        switch (method) {
                            case "nanoTime" -> clock.get();
                            case "poll" -> {
                                clock.addAndGet(pollNanos);
                                yield isStill.get() ? 0 : null;
                            }
                            case "await" -> {
                                clock.addAndGet(waitNanos);
                                yield null;
                            }
                            default -> null;
                        });
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
            assertRunsATask(loops);
            assertRunsATimer(loops, 1);
            // More than three failures begin a pause, in which tasks are run all the same.
            await().until(() -> statistics.value(RdmaCounter.FAILED_ROUNDS) >= 4);
            assertRunsATask(loops);
            fails.set(false);
            shutDown(loops);
        }
    }

    /** A device one of whose methods fails as soon as it is told to. */
    private static VerbsProvider failing(String method, AtomicBoolean fails) {
        return device(
                (called, arguments) -> {
                    if (fails.get() && called.equals(method)) {
                        throw new InternalError("of the test");
                    }
                    return null;
                });
    }

    /** Called before a method; what it returns is the result, unless it is {@code null}. */
    @FunctionalInterface
    private interface Change {
        Object call(String method, Object[] arguments) throws Throwable;
    }

    private static VerbsProvider device(Change change) {
        VerbsProvider real = Rdma.provider();
        return changed(
                VerbsProvider.class,
                real,
                (method, none) ->
                        method.equals("open")
                                ? changed(EventLoopVerbsContext.class, real.open(), change)
                                : null);
    }

    private static <T> T changed(Class<T> type, T real, Change change) {
        return type.cast(
                Proxy.newProxyInstance(
                        RdmaIoHandlerTest.class.getClassLoader(),
                        new Class<?>[] {type},
                        (self, called, arguments) -> {
                            Object result = change.call(called.getName(), arguments);
                            if (result != null) {
                                return result;
                            }
                            try {
                                return called.invoke(real, arguments);
                            } catch (InvocationTargetException e) {
                                throw e.getCause();
                            }
                        }));
    }
}
