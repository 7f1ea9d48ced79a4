// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.rpcrdma.channel.ConnectedPair.PATIENCE_SECONDS;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.netty.channel.ServerChannel;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.util.concurrent.DefaultEventExecutorChooserFactory;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.EventExecutorChooserFactory;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.RejectedExecutionHandlers;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.VerbsProvider;
import org.rpcrdma.verbs.iwarp.IwarpProvider;

class RdmaEventLoopTest {

    private static RdmaEventLoopGroup group(PollMode mode) {
        return new RdmaEventLoopGroup(1, Rdma.provider(), mode);
    }

    private static void shutDown(RdmaEventLoopGroup group) throws InterruptedException {
        assertThat(
                        group.shutdownGracefully(0, 0, TimeUnit.SECONDS)
                                .await(PATIENCE_SECONDS, TimeUnit.SECONDS))
                .isTrue();
    }

    /** With a quiet period, which never comes while there are tasks: then the time-out counts. */
    private static void shutDownUnquiet(RdmaEventLoopGroup group) throws InterruptedException {
        assertThat(
                        group.shutdownGracefully(1, 1, TimeUnit.SECONDS)
                                .await(PATIENCE_SECONDS, TimeUnit.SECONDS))
                .isTrue();
    }

    /** Submits itself until it is told to end, or nobody takes it. */
    private static final class Insistent implements Runnable {
        private final EventExecutor executor;
        private final AtomicBoolean end = new AtomicBoolean();

        Insistent(EventExecutor executor) {
            this.executor = executor;
        }

        @Override
        public void run() {
            if (!end.get()) {
                executor.execute(this);
            }
        }
    }

    @Test
    void roundsSleepsAndStallsAreCounted() throws Exception {
        RdmaEventLoopGroup group = group(PollMode.BLOCKING);
        long tooLong = TimeUnit.MILLISECONDS.toNanos(RdmaEventLoopGroup.STALL_MILLIS);
        group.submit(
                        () -> {
                            long begin = System.nanoTime();
                            while (System.nanoTime() - begin <= tooLong) {
                                Thread.onSpinWait();
                            }
                        })
                .sync();
        await().untilAsserted(
                        () -> {
                            assertThat(group.value(RdmaCounter.STALLS)).isPositive();
                            assertThat(group.value(RdmaCounter.TASK_NANOS)).isGreaterThan(tooLong);
                            assertThat(group.value(RdmaCounter.SLEEPS)).isPositive();
                        });
        assertThat(group.value(RdmaCounter.ROUNDS))
                .isGreaterThanOrEqualTo(group.value(RdmaCounter.ROUNDS_WITH_WORK));
        assertThat(group.value(RdmaCounter.FAILED_ROUNDS)).isZero();
        shutDown(group);
    }

    @Test
    void memoryThatIsRefusedIsCounted() throws Exception {
        RdmaEventLoopGroup group =
                new RdmaEventLoopGroup(1, Rdma.provider(), new DirectMemoryBudget(0));
        RdmaEventLoop loop = (RdmaEventLoop) group.next();
        loop.submit(
                        () ->
                                assertThatThrownBy(() -> loop.poller().pool.registered(1))
                                        .isInstanceOf(IllegalStateException.class))
                .sync();
        assertThat(group.value(RdmaCounter.MEMORY_REFUSALS)).isEqualTo(1);
        assertThat(group.registeredBytes()).isZero();
        assertThat(group.registeredBytesInUse()).isZero();
        shutDown(group);
    }

    /** Frameworks register the datagram channel of their DNS resolver with the group of their connections. */
    @Test
    void aChannelOfAnotherTransportIsToldWhereItBelongs() throws Exception {
        RdmaEventLoopGroup group = group(PollMode.BLOCKING);
        Channel datagrams = new NioDatagramChannel();
        assertThat(group.register(datagrams).await().cause())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("NioEventLoopGroup")
                .hasMessageContaining("RdmaIoHandler.newFactory()");
        datagrams.unsafe().closeForcibly();
        shutDown(group);
    }

    /** A refused channel is as it was: it can be registered where it belongs. */
    @Test
    void aChannelIsToldWhichGroupItNeeds() throws Exception {
        RdmaEventLoopGroup group =
                new RdmaEventLoopGroup(1, new IwarpProvider(), PollMode.BLOCKING);
        NioEventLoopGroup nio = new NioEventLoopGroup(1);
        try {
            for (Channel channel :
                    List.of(
                            new RdmaChannel(),
                            new RdmaStreamChannel(),
                            new RdmaServerChannel(),
                            new RdmaServerStreamChannel())) {
                checkRefused(nio, channel);
                group.register(channel).sync();
                if (channel instanceof ServerChannel) {
                    channel.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)).sync();
                }
                SocketAddress address = channel.localAddress();
                channel.deregister().sync();
                checkRefused(nio, channel);
                group.register(channel).sync();
                assertThat(channel.localAddress()).isEqualTo(address);
                assertThat(channel.isActive()).isEqualTo(channel instanceof ServerChannel);
                channel.close().sync();
            }
        } finally {
            nio.shutdownGracefully(0, 0, TimeUnit.SECONDS).sync();
            shutDown(group);
        }
    }

    private static void checkRefused(NioEventLoopGroup nio, Channel channel) throws Exception {
        assertThat(nio.register(channel).await().cause())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("NioEventLoop")
                .hasMessageContaining(channel.getClass().getSimpleName())
                .hasMessageContaining("give the bootstrap an RdmaEventLoopGroup");
        assertThat(channel.isOpen()).isTrue();
        assertThat(channel.isRegistered()).isFalse();
    }

    /** A bootstrap closes what it cannot register. */
    @Test
    void aBootstrapWithAWrongGroupFailsWithThatSentence() throws Exception {
        NioEventLoopGroup nio = new NioEventLoopGroup(1);
        try {
            ChannelFuture connect =
                    new Bootstrap()
                            .group(nio)
                            .channel(RdmaChannel.class)
                            .handler(new ChannelInboundHandlerAdapter())
                            .connect(InetAddress.getLoopbackAddress(), 1)
                            .await();
            assertThat(connect.cause()).hasMessageContaining("an RdmaEventLoopGroup in the place");
            assertThat(connect.channel().isOpen()).isFalse();
        } finally {
            nio.shutdownGracefully(0, 0, TimeUnit.SECONDS).sync();
        }
    }

    /** Deadlines are tasks. Those of calls that a broken device holds up have to pass all the same. */
    @Test
    void tasksAndTimersRunWhateverTheDeviceDoes() throws Exception {
        AtomicBoolean fails = new AtomicBoolean();
        RdmaEventLoopGroup group =
                new RdmaEventLoopGroup(
                        1,
                        failing(fails, new AtomicLong(), new AtomicInteger()),
                        PollMode.BLOCKING);
        assertThat(group.submit(() -> 1).get(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo(1);
        fails.set(true);
        assertThat(group.submit(() -> 2).get(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo(2);
        Future<Integer> later = group.schedule(() -> 3, 1, TimeUnit.NANOSECONDS);
        assertThat(later.get(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo(3);
        // All of these may belong to the round that had polled already.
        await().until(
                        () ->
                                group.submit(() -> true).get()
                                        && group.value(RdmaCounter.FAILED_ROUNDS) > 0);
        fails.set(false);
        shutDown(group);
    }

    /** The clock stands still while the device fails, so the pause is as long as the test wants it. */
    @Test
    void aDeviceThatGoesOnFailingIsNotPolledForAWhileAndTasksDoNotWaitForThat() throws Exception {
        AtomicBoolean fails = new AtomicBoolean();
        AtomicLong stopped = new AtomicLong();
        AtomicInteger polls = new AtomicInteger();
        RdmaEventLoopGroup group =
                new RdmaEventLoopGroup(1, failing(fails, stopped, polls), PollMode.BLOCKING);
        assertThat(group.submit(() -> 1).get(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo(1);
        stopped.set(System.nanoTime());
        fails.set(true);
        group.submit(() -> 2).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        await().until(() -> group.value(RdmaCounter.FAILED_ROUNDS) == 4);
        int before = polls.get();
        for (int i = 0; i < 20; i++) {
            group.submit(() -> 3).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        }
        assertThat(polls).hasValue(before);
        fails.set(false);
        stopped.addAndGet(TimeUnit.SECONDS.toNanos(2));
        group.submit(() -> 4).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        await().until(() -> polls.get() > before);
        assertThat(group.value(RdmaCounter.FAILED_ROUNDS)).isEqualTo(4);
        stopped.set(0);
        shutDown(group);
    }

    /**
     * A device whose polls fail as soon as they are told to.
     *
     * @param stopped the time of a clock that stands still, 0 for none
     */
    private static VerbsProvider failing(
            AtomicBoolean fails, AtomicLong stopped, AtomicInteger polls) {
        return InterceptedDevice.of(
                call -> {
                    if (call.name().equals("poll")) {
                        polls.incrementAndGet();
                        if (fails.get()) {
                            throw new InternalError("of the test");
                        }
                    }
                    return stopped.get() != 0 && call.name().equals("nanoTime")
                            ? stopped.get()
                            : call.proceed();
                });
    }

    @Test
    void aTaskThatSubmitsItselfDoesNotEndIo() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            Insistent task = new Insistent(pair.server.eventLoop());
            pair.server.eventLoop().execute(task);
            pair.client.writeAndFlush(Unpooled.copyInt(1));
            assertThat(pair.serverInbox.takeBytes()).containsExactly(0, 0, 0, 1);
            task.end.set(true);
        }
    }

    @Test
    void aTaskThatSubmitsItselfDoesNotKeepTheLoopFromEnding() throws Exception {
        RdmaEventLoopGroup group = group(PollMode.ADAPTIVE);
        Insistent task = new Insistent(group.next());
        group.next().execute(task);
        shutDownUnquiet(group);
        task.end.set(true);
    }

    @Test
    void aConnectThatIsRepeatedInItsListenerDoesNotKeepTheLoopFromEnding() throws Exception {
        InetSocketAddress nobody;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            nobody = (InetSocketAddress) socket.getLocalSocketAddress();
        }
        RdmaEventLoopGroup group = group(PollMode.ADAPTIVE);
        Bootstrap bootstrap =
                new Bootstrap()
                        .group(group)
                        .channel(RdmaChannel.class)
                        .handler(ConnectedPair.initializer(new ConnectedPair.Inbox()));
        CountDownLatch failures = new CountDownLatch(10);
        repeat(bootstrap, nobody, failures);
        assertThat(failures.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        shutDownUnquiet(group);
    }

    private static void repeat(
            Bootstrap bootstrap, InetSocketAddress nobody, CountDownLatch failures) {
        bootstrap
                .connect(nobody)
                .addListener(
                        future -> {
                            failures.countDown();
                            if (!(future.cause() instanceof RejectedExecutionException)) {
                                repeat(bootstrap, nobody, failures);
                            }
                        });
    }

    @Test
    void thePeerThatTakesNothingIsCutWhenTheTimeOutOfTheShutdownIsOver() throws Exception {
        try (ConnectedPair pair =
                new ConnectedPair(
                        bootstrap ->
                                bootstrap.option(RdmaChannelOption.DRAIN_MILLIS, Integer.MAX_VALUE),
                        bootstrap -> {})) {
            // The loop of the peer is held up, so that TCP takes no more at some time.
            CountDownLatch release = new CountDownLatch(1);
            pair.server.eventLoop().execute(() -> awaitQuietly(release));
            try {
                for (int i = 0; i < 16; i++) {
                    pair.client.write(
                            new RdmaWrite(Unpooled.directBuffer(1 << 20).writeZero(1 << 20), 1, 0));
                }
                ChannelFuture last = pair.client.writeAndFlush(Unpooled.copyInt(1));
                Future<?> end =
                        pair.client
                                .eventLoop()
                                .parent()
                                .shutdownGracefully(0, 1, TimeUnit.MILLISECONDS);
                assertThat(end.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
                assertThat(last.isDone()).isTrue();
                assertThat(last.isSuccess()).isFalse();
                // The loop has ended by the end of its channels, and not instead of it.
                assertThat(pair.clientInbox.inactive).containsExactly(pair.client);
            } finally {
                release.countDown();
            }
        }
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** A thread that stays interrupted never blocks, and takes a whole CPU. */
    @ParameterizedTest
    @EnumSource(
            value = PollMode.class,
            names = {"BLOCKING", "ADAPTIVE"})
    void theLoopTakesNoNoticeOfAnInterruption(PollMode mode) throws Exception {
        RdmaEventLoopGroup group = group(mode);
        Thread thread = group.submit(Thread::currentThread).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        thread.interrupt();
        await().until(() -> !thread.isInterrupted());
        assertThat(group.submit(() -> 1).get(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo(1);
        shutDown(group);
    }

    @Test
    void channelsOfALoopAreShownAndCannotBeRemoved() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            ConnectedPair.on(
                    pair.client,
                    () -> {
                        Iterator<Channel> channels =
                                ((RdmaEventLoop) pair.client.eventLoop())
                                        .registeredChannelsIterator();
                        assertThat(channels.next()).isSameAs(pair.client);
                        assertThatThrownBy(channels::remove)
                                .isInstanceOf(UnsupportedOperationException.class);
                        assertThat(channels.hasNext()).isFalse();
                        return null;
                    });
        }
    }

    @Test
    void aGroupTakesExecutorChooserQueuesAndRejection() throws Exception {
        Queue<Thread> threads = new ConcurrentLinkedQueue<>();
        Queue<Runnable> rejected = new ConcurrentLinkedQueue<>();
        AtomicBoolean chosen = new AtomicBoolean();
        EventExecutorChooserFactory chooser =
                executors -> {
                    chosen.set(true);
                    return DefaultEventExecutorChooserFactory.INSTANCE.newChooser(executors);
                };
        RdmaEventLoopGroup group =
                new RdmaEventLoopGroup(
                        1,
                        command -> {
                            Thread thread = new Thread(command, "mine");
                            threads.add(thread);
                            thread.start();
                        },
                        chooser,
                        Rdma.provider(),
                        PollMode.ADAPTIVE,
                        (task, executor) -> rejected.add(task),
                        capacity -> new ArrayBlockingQueue<>(1));
        CountDownLatch started = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        group.execute(
                () -> {
                    started.countDown();
                    awaitQuietly(release);
                });
        assertThat(started.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        group.execute(() -> {}); // fills the queue
        Runnable surplus = () -> {};
        group.execute(surplus);
        release.countDown();
        assertThat(rejected).containsExactly(surplus);
        assertThat(threads).extracting(Thread::getName).containsExactly("mine");
        assertThat(chosen).isTrue();
        shutDown(group);
    }

    /** Netty reads it once for each JVM, so this takes one. */
    @Test
    void queuesOfTasksAreAsLongAsNettysPropertySays() throws Exception {
        Process process =
                new ProcessBuilder(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-Dio.netty.eventLoop.maxPendingTasks=" + FullQueue.TASKS,
                                "-Dorg.rpcrdma.provider=iwarp",
                                "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
                                "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
                                "-cp",
                                System.getProperty(
                                        "surefire.test.class.path",
                                        System.getProperty("java.class.path")),
                                FullQueue.class.getName())
                        .inheritIO()
                        .start();
        try {
            assertThat(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
            assertThat(process.exitValue()).isEqualTo(FullQueue.IS_FULL);
        } finally {
            process.destroyForcibly();
        }
    }

    /** Gives a loop that is busy one task more than its queue is to take. */
    static final class FullQueue {

        static final int TASKS = 4096; // a power of two, as the length of the queue is
        static final int IS_FULL = 42;

        private FullQueue() {}

        public static void main(String[] args) throws InterruptedException {
            EventLoop loop = new RdmaEventLoopGroup(1).next();
            CountDownLatch started = new CountDownLatch(1);
            loop.execute(
                    () -> {
                        started.countDown();
                        awaitQuietly(new CountDownLatch(1));
                    });
            started.await();
            for (int i = 0; i < TASKS; i++) {
                loop.execute(() -> {});
            }
            try {
                loop.execute(() -> {});
                System.exit(0);
            } catch (RejectedExecutionException e) {
                System.exit(IS_FULL);
            }
        }
    }

    @Test
    void anIoRatioIsAPercentage() throws Exception {
        RdmaEventLoopGroup group = group(PollMode.BLOCKING);
        assertThatThrownBy(() -> group.setIoRatio(0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("ioRatio: 0");
        assertThatThrownBy(() -> group.setIoRatio(101))
                .isInstanceOf(IllegalArgumentException.class);
        group.setIoRatio(100);
        group.submit(() -> 1).sync();
        shutDown(group);
    }

    @Test
    void aBusyLoopTakesAWholeCpuAndSaysSo() {
        assertThatThrownBy(() -> new RdmaEventLoopGroup(0, Rdma.provider(), PollMode.BUSY))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("whole CPU");
    }

    @Test
    void whatAGroupNeedsIsChecked() {
        assertThatThrownBy(
                        () ->
                                new RdmaEventLoopGroup(
                                        1,
                                        null,
                                        null,
                                        Rdma.provider(),
                                        PollMode.BLOCKING,
                                        RejectedExecutionHandlers.reject(),
                                        null))
                .isInstanceOf(NullPointerException.class)
                .hasMessageContaining("chooserFactory");
    }
}
