// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static io.netty.util.internal.ObjectUtil.checkInRange;
import static io.netty.util.internal.ObjectUtil.checkNotNull;

import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopTaskQueueFactory;
import io.netty.channel.MultithreadEventLoopGroup;
import io.netty.util.NettyRuntime;
import io.netty.util.concurrent.DefaultEventExecutorChooserFactory;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.EventExecutorChooserFactory;
import io.netty.util.concurrent.RejectedExecutionHandler;
import io.netty.util.concurrent.RejectedExecutionHandlers;
import io.netty.util.concurrent.ThreadPerTaskExecutor;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.VerbsProvider;

/** Event loops for {@link RdmaChannel} and {@link RdmaServerChannel}. */
public final class RdmaEventLoopGroup extends MultithreadEventLoopGroup {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(RdmaEventLoopGroup.class);

    /** Duration in milliseconds above which a round of an event loop counts as one of {@link RdmaCounter#STALLS}. */
    public static final int STALL_MILLIS = 100;

    private final RdmaEventLoopGroupStatistics statistics;

    /** As many event loops as Netty's default, on the best available provider. */
    public RdmaEventLoopGroup() {
        this(0);
    }

    /**
     * Event loops on the provider that is preferred, adaptive, with threads of their own.
     *
     * @param threads the number of event loops; 0 for Netty's default
     */
    public RdmaEventLoopGroup(int threads) {
        this(threads, Rdma.provider(), PollMode.ADAPTIVE);
    }

    /**
     * As many event loops as Netty's default, on the provider that is preferred, adaptive.
     *
     * @param threadFactory makes the threads of the loops
     */
    public RdmaEventLoopGroup(ThreadFactory threadFactory) {
        this(0, threadFactory);
    }

    /**
     * Event loops on the provider that is preferred, adaptive.
     *
     * @param threads the number of event loops; 0 for Netty's default
     * @param threadFactory makes the threads of the loops
     */
    public RdmaEventLoopGroup(int threads, ThreadFactory threadFactory) {
        this(threads, threadFactory, Rdma.provider(), PollMode.ADAPTIVE);
    }

    /**
     * Event loops on the provider that is preferred, adaptive.
     *
     * @param threads the number of event loops; 0 for Netty's default
     * @param executor gives each loop the thread that it keeps to its end; {@code null} for threads of the group's own
     */
    public RdmaEventLoopGroup(int threads, Executor executor) {
        this(threads, executor, Rdma.provider(), PollMode.ADAPTIVE);
    }

    /**
     * Event loops on the provider that is preferred, adaptive.
     *
     * @param threads the number of event loops; 0 for Netty's default
     * @param executor gives each loop the thread that it keeps to its end; {@code null} for threads of the group's own
     * @param chooserFactory says which loop a new channel gets
     * @param rejectedHandler told of each task that a loop does not take: its queue is full, or it was shut down
     */
    public RdmaEventLoopGroup(
            int threads,
            Executor executor,
            EventExecutorChooserFactory chooserFactory,
            RejectedExecutionHandler rejectedHandler) {
        this(
                threads,
                executor,
                chooserFactory,
                Rdma.provider(),
                PollMode.ADAPTIVE,
                rejectedHandler,
                null);
    }

    /**
     * Event loops on the provider that is preferred, with threads of their own.
     *
     * @param threads the number of event loops; 0 for Netty's default, which {@link PollMode#BUSY} does not allow
     * @param provider the device, see {@link Rdma#provider(String)}
     * @param mode how the loops wait
     */
    public RdmaEventLoopGroup(int threads, VerbsProvider provider, PollMode mode) {
        this(threads, (Executor) null, provider, mode);
    }

    /**
     * Event loops with threads of a factory.
     *
     * @param threads the number of event loops; 0 for Netty's default, which {@link PollMode#BUSY} does not allow
     * @param threadFactory makes the threads of the loops
     * @param provider the device, see {@link Rdma#provider(String)}
     * @param mode how the loops wait
     */
    public RdmaEventLoopGroup(
            int threads, ThreadFactory threadFactory, VerbsProvider provider, PollMode mode) {
        this(
                threads,
                new ThreadPerTaskExecutor(checkNotNull(threadFactory, "threadFactory")),
                provider,
                mode);
    }

    /**
     * Event loops on threads of an executor.
     *
     * @param threads the number of event loops; 0 for Netty's default, which {@link PollMode#BUSY} does not allow
     * @param executor gives each loop the thread that it keeps to its end; {@code null} for threads of the group's own
     * @param provider the device, see {@link Rdma#provider(String)}
     * @param mode how the loops wait
     */
    public RdmaEventLoopGroup(
            int threads, Executor executor, VerbsProvider provider, PollMode mode) {
        this(
                threads,
                executor,
                DefaultEventExecutorChooserFactory.INSTANCE,
                provider,
                mode,
                RejectedExecutionHandlers.reject(),
                null);
    }

    /**
     * Event loops on threads of an executor, with everything that Netty lets a group choose.
     *
     * @param threads the number of event loops; 0 for Netty's default, which {@link PollMode#BUSY} does not allow
     * @param executor gives each loop the thread that it keeps to its end; {@code null} for threads of the group's own
     * @param chooserFactory says which loop a new channel gets
     * @param provider the device, see {@link Rdma#provider(String)}
     * @param mode how the loops wait
     * @param rejectedHandler told of each task that a loop does not take: its queue is full, or it was shut down
     * @param taskQueueFactory makes the task queues of each loop; {@code null} for queues of the length that {@code
     *     -Dio.netty.eventLoop.maxPendingTasks} says, which is not bounded by default
     */
    public RdmaEventLoopGroup(
            int threads,
            Executor executor,
            EventExecutorChooserFactory chooserFactory,
            VerbsProvider provider,
            PollMode mode,
            RejectedExecutionHandler rejectedHandler,
            EventLoopTaskQueueFactory taskQueueFactory) {
        this(
                threads,
                executor,
                chooserFactory,
                provider,
                mode,
                rejectedHandler,
                taskQueueFactory,
                DirectMemoryBudget.jvm());
    }

    /** A group with its own memory budget, for tests. */
    RdmaEventLoopGroup(int threads, VerbsProvider provider, DirectMemoryBudget budget) {
        this(threads, null, provider, PollMode.ADAPTIVE, budget);
    }

    /** A group with its own threads and memory budget, for tests. */
    RdmaEventLoopGroup(
            int threads,
            Executor executor,
            VerbsProvider provider,
            PollMode mode,
            DirectMemoryBudget budget) {
        this(
                threads,
                executor,
                DefaultEventExecutorChooserFactory.INSTANCE,
                provider,
                mode,
                RejectedExecutionHandlers.reject(),
                null,
                budget);
    }

    private RdmaEventLoopGroup(
            int threads,
            Executor executor,
            EventExecutorChooserFactory chooserFactory,
            VerbsProvider provider,
            PollMode mode,
            RejectedExecutionHandler rejectedHandler,
            EventLoopTaskQueueFactory taskQueueFactory,
            DirectMemoryBudget budget) {
        super(
                checkThreads(threads, mode),
                executor,
                checkNotNull(chooserFactory, "chooserFactory"),
                checkNotNull(provider, "provider"),
                mode,
                checkNotNull(rejectedHandler, "rejectedHandler"),
                taskQueueFactory,
                budget);
        statistics = RdmaEventLoopGroupStatistics.of(this);
    }

    private static int checkThreads(int threads, PollMode mode) {
        if (checkNotNull(mode, "mode") == PollMode.BUSY) {
            if (threads <= 0) {
                throw new IllegalArgumentException(
                        "threads: "
                                + threads
                                + " (expected: > 0, because each busy event loop takes a whole"
                                + " CPU)");
            }
            int processors = NettyRuntime.availableProcessors();
            if (threads > processors) {
                logger.warn(
                        "{} busy event loops share {} CPUs: each waits while another one polls; use"
                                + " fewer loops or PollMode.ADAPTIVE",
                        threads,
                        processors);
            }
        }
        return threads;
    }

    /**
     * Sets the share of its time that each loop gives to I/O while tasks wait, as in {@link
     * io.netty.channel.nio.NioEventLoopGroup#setIoRatio}.
     *
     * @param ioRatio in percent, 1 to 100; 50 at first. 100 runs all waiting tasks without a time limit, so that a task
     *     that resubmits itself starves I/O
     */
    public void setIoRatio(int ioRatio) {
        checkInRange(ioRatio, 1, 100, "ioRatio");
        for (EventExecutor loop : this) {
            ((RdmaEventLoop) loop).ioRatio(ioRatio);
        }
    }

    /**
     * The sum of a counter over all loops of this group, including terminated ones. Any thread, which may read slightly
     * old values.
     *
     * @param counter which one
     * @return from 0; -1 when the device does not count it
     */
    public long value(RdmaCounter counter) {
        return statistics.value(counter);
    }

    /**
     * {@return the posted receives of all {@linkplain RdmaChannel channels} of the group, exact to a small batch for
     * each channel} Any thread.
     */
    public long postedReceives() {
        return statistics.postedReceives();
    }

    /** {@return the registered channels of all loops: connections and listeners} Any thread. */
    public int registeredChannels() {
        return statistics.registeredChannels();
    }

    /** {@return the bytes of registered memory of this group's loops, in use or cached} Any thread. */
    public long registeredBytes() {
        return statistics.registeredBytes();
    }

    /** {@return the bytes of registered memory in use by buffers} Any thread. */
    public long registeredBytesInUse() {
        return statistics.registeredBytesInUse();
    }

    @Override
    protected EventLoop newChild(Executor executor, Object... args) throws IOException {
        VerbsProvider provider = (VerbsProvider) args[0];
        provider.ensureAvailability();
        return new RdmaEventLoop(
                this,
                executor,
                provider.open(),
                (PollMode) args[1],
                (DirectMemoryBudget) args[4],
                (EventLoopTaskQueueFactory) args[3],
                (RejectedExecutionHandler) args[2]);
    }

    /** Loops, channels and memory. Any thread. */
    @Override
    public String toString() {
        return "RdmaEventLoopGroup("
                + executorCount()
                + " loops, "
                + registeredChannels()
                + " channels, "
                + registeredBytesInUse()
                + " of "
                + registeredBytes()
                + " registered bytes lent"
                + (isShuttingDown() ? ", shut down)" : ")");
    }
}
