// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.EventLoopTaskQueueFactory;
import io.netty.channel.SingleThreadEventLoop;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.RejectedExecutionHandler;
import io.netty.util.internal.PlatformDependent;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.memory.RegisteredBufferPool;
import org.rpcrdma.verbs.DirectMemory;
import org.rpcrdma.verbs.VerbsContext;

/** Polls one {@link VerbsContext} and runs the tasks of its channels. */
final class RdmaEventLoop extends SingleThreadEventLoop {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(RdmaEventLoop.class);

    /** Completions delivered in one go, so that tasks are not starved. */
    private static final int POLL_BUDGET = 256;

    /** How long a loop without work looks again at once before it blocks, or yields its CPU when it never blocks. */
    private static final long SPIN_NANOS = TimeUnit.MICROSECONDS.toNanos(50);

    /** How long tasks may run between two looks at the clock when the loop ends. */
    private static final long LAST_TASKS_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /** How long a loop that has cut its connections still waits for their channels to be told. */
    private static final long CUT_NANOS = TimeUnit.SECONDS.toNanos(5);

    private static final long STALL_NANOS =
            TimeUnit.MILLISECONDS.toNanos(RdmaEventLoopGroup.STALL_MILLIS);

    private final VerbsContext context;
    private final long origin;
    private final PollMode mode;
    private final PollPause pause;
    private final RegisteredBufferPool pool;
    private final Set<AbstractRdmaChannel> channels = new LinkedHashSet<>();

    private final EventLoopCounters counters = new EventLoopCounters();
    private final EventLoopReceiveCounters receives = new EventLoopReceiveCounters();
    private final RateLimitedLogger log = new RateLimitedLogger();

    /** Channels with something to deliver, each at most once. */
    private final ArrayDeque<AbstractRdmaChannel> ready = new ArrayDeque<>();

    /** The channel of the last round that delivered to one and no other; {@code null} after one with more. */
    private AbstractRdmaChannel onlyDelivered;

    /** Whether it was the same in the round before. */
    private boolean isAlone;

    private volatile int ioRatio = 50;

    /** The time-out of the shutdown, which is written before the shutdown begins. */
    private volatile long shutdownNanos;

    private boolean isClosing;
    private long closingSince;

    RdmaEventLoop(
            EventLoopGroup parent,
            Executor executor,
            VerbsContext context,
            PollMode mode,
            DirectMemory budget,
            EventLoopTaskQueueFactory taskQueueFactory,
            RejectedExecutionHandler rejectedHandler) {
        super(
                parent,
                executor,
                false,
                newTaskQueue(taskQueueFactory),
                newTaskQueue(taskQueueFactory),
                rejectedHandler);
        this.context = context;
        this.origin = context.nanoTime() - nettyNanoTime();
        this.mode = mode;
        this.pause = new PollPause(context);
        this.pool =
                new RegisteredBufferPool(
                        context,
                        budget,
                        this::inEventLoop,
                        this::callCollector,
                        FlightEvents::memoryRefused);
    }

    private static Queue<Runnable> newTaskQueue(EventLoopTaskQueueFactory factory) {
        if (factory != null) {
            return factory.newTaskQueue(DEFAULT_MAX_PENDING_TASKS);
        }
        // Two kinds of queue, as in Netty's own event loops.
        return DEFAULT_MAX_PENDING_TASKS == Integer.MAX_VALUE
                ? PlatformDependent.newMpscQueue()
                : PlatformDependent.newMpscQueue(DEFAULT_MAX_PENDING_TASKS);
    }

    /** The clock of Netty's scheduled tasks; the oldest supported Netty tells it in no other way. */
    private static long nettyNanoTime() {
        return Long.MAX_VALUE - deadlineToDelayNanos(Long.MAX_VALUE);
    }

    /**
     * Scheduled tasks go by the clock of the device, with Netty's origin. A Netty that does not ask goes by {@link
     * System#nanoTime}, as all devices but simulated ones do.
     */
    @Override
    protected long getCurrentTimeNanos() {
        return context.nanoTime() - origin;
    }

    VerbsContext context() {
        return context;
    }

    /** Any thread; -1 when the device does not count it. */
    long value(RdmaCounter counter) {
        return switch (counter) {
            case MEMORY_REFUSALS -> pool.refusals();
            case REGISTRATIONS -> pool.registrations();
            case RECEIVES_LOW -> receives.low();
            default -> {
                if (counter.error != null) {
                    yield context.value(counter.error);
                }
                yield counter.ofDevice == null
                        ? counters.value(counter)
                        : context.value(counter.ofDevice);
            }
        };
    }

    void count(RdmaCounter counter) {
        counters.increment(counter);
    }

    EventLoopReceiveCounters receives() {
        return receives;
    }

    RegisteredBufferPool pool() {
        return pool;
    }

    private void callCollector() {
        try {
            execute(pool::collect);
        } catch (RejectedExecutionException e) {
            // The loop is about to end, and the pool collects then.
            logger.trace("The pool collects when it is closed", e);
        }
    }

    RateLimitedLogger log() {
        return log;
    }

    /** The share of the time that goes to I/O, in percent; 100 runs all tasks whatever time they take. */
    void ioRatio(int percent) {
        ioRatio = percent;
    }

    /**
     * @throws RejectedExecutionException when the loop has no more time for a channel: a channel that is connected
     *     again whenever it fails would keep it from ending
     */
    void add(AbstractRdmaChannel channel) {
        if (isShuttingDown() && isOverdue()) {
            throw new RejectedExecutionException("event loop has shut down");
        }
        channels.add(channel);
    }

    void remove(AbstractRdmaChannel channel) {
        channels.remove(channel);
        if (onlyDelivered == channel) {
            onlyDelivered = null;
        }
    }

    /** Has {@link AbstractRdmaChannel#deliver()} called once the current poll is over. */
    void ready(AbstractRdmaChannel channel) {
        ready.add(channel);
    }

    @Override
    public int registeredChannels() {
        return channels.size();
    }

    /** The channels at this moment; nothing can be removed. Event loop only. */
    @Override
    public Iterator<Channel> registeredChannelsIterator() {
        assert inEventLoop();
        return List.<Channel>copyOf(channels).iterator();
    }

    @Override
    protected void wakeup(boolean inEventLoop) {
        if (!inEventLoop) {
            context.wakeup();
            pause.wakeup();
        }
    }

    @Override
    protected void run() {
        long start = context.nanoTime();
        long lastWork = start;
        for (; ; ) {
            boolean isFailed = false;
            boolean isPolled = !pause.isOn();
            try {
                boolean worked = false;
                try {
                    worked = isPolled && pollOnce();
                } catch (Throwable t) {
                    // Tasks, deadlines among them, run whatever the device does, and see the
                    // failure counted.
                    isFailed = true;
                    roundFailed(t);
                }
                long polled = context.nanoTime();
                long now = polled;
                if (runTasks(polled - start)) {
                    worked = true;
                    now = context.nanoTime();
                }
                counters.increment(RdmaCounter.ROUNDS);
                if (isFailed) {
                    start = now;
                } else if (worked) {
                    countRound(polled - start, now - polled);
                    lastWork = now;
                    start = now;
                } else {
                    start = isPolled ? idle(now, lastWork) : awaitPause(now);
                }
            } catch (Throwable t) {
                // Whatever it is, the other channels of this loop have nothing to do with it.
                isFailed = true;
                roundFailed(t);
                start = context.nanoTime();
            }
            if (!isFailed && isPolled) {
                pause.roundSucceeded();
            }
            try {
                if (isShuttingDown() && tryEnd()) {
                    return;
                }
            } catch (Throwable t) {
                roundFailed(t);
            }
        }
    }

    private void countRound(long ioNanos, long taskNanos) {
        counters.increment(RdmaCounter.ROUNDS_WITH_WORK);
        counters.add(RdmaCounter.IO_NANOS, ioNanos);
        counters.add(RdmaCounter.TASK_NANOS, taskNanos);
        if (ioNanos + taskNanos > STALL_NANOS) {
            counters.increment(RdmaCounter.STALLS);
            FlightEvents.stall(ioNanos, taskNanos);
        }
    }

    private boolean runTasks(long ioNanos) {
        int ratio = ioRatio;
        return ratio == 100 ? super.runAllTasks() : runAllTasks(ioNanos * (100 - ratio) / ratio);
    }

    /** Called while the loop ends. A task that submits itself must not keep it from ending. */
    @Override
    protected boolean runAllTasks() {
        // Once shut down, the loop takes no more tasks.
        return isShutdown() ? super.runAllTasks() : runAllTasks(LAST_TASKS_NANOS);
    }

    private boolean pollOnce() {
        int work = context.poll(POLL_BUDGET);
        counters.add(RdmaCounter.WORK, work);
        // What becomes ready during delivery waits for the next round, so that one channel cannot
        // keep the loop.
        int deliveries = ready.size();
        if (deliveries == 0) {
            return work > 0;
        }
        AbstractRdmaChannel only = deliveries == 1 ? ready.peek() : null;
        if (only != null && !only.isRegistered()) {
            only = null; // nothing keeps a closed channel
        }
        isAlone = only != null && only == onlyDelivered;
        onlyDelivered = only;
        for (int i = deliveries; i > 0; i--) {
            ready.poll().deliver();
        }
        return true;
    }

    /** Whether this thread polls, and in the last two rounds that had something for a channel it was for this one. */
    boolean isBusyWithOnly(AbstractRdmaChannel channel) {
        return isAlone && onlyDelivered == channel && mode != PollMode.BLOCKING;
    }

    /** Returns the time when it is over. */
    @SuppressWarnings("ThreadPriorityCheck") // a loop that never blocks has nothing else to offer
    private long idle(long now, long lastWork) throws IOException {
        if (hasTasks() || !ready.isEmpty()) {
            return now;
        }
        boolean isRecent = now - lastWork < SPIN_NANOS;
        if (mode == PollMode.BUSY || (mode == PollMode.ADAPTIVE && isRecent)) {
            if (isRecent) {
                Thread.onSpinWait();
            } else {
                // Costs little on a CPU of its own; on a shared one it lets the others work.
                Thread.yield();
            }
            return now;
        }
        counters.increment(RdmaCounter.SLEEPS);
        if (!isShuttingDown()) {
            long deadline = nextScheduledTaskDeadlineNanos();
            // A task that is added from now on wakes the context: wakeup() ends the current await
            // or else the next one.
            context.await(deadline == -1 ? -1 : Math.max(0, deadline - getCurrentTimeNanos()));
        } else if (!channels.isEmpty() || context.isLingering()) {
            context.await(LAST_TASKS_NANOS);
        }
        ignoreInterruption();
        return context.nanoTime();
    }

    private void roundFailed(Throwable t) {
        pause.roundFailed();
        counters.increment(RdmaCounter.FAILED_ROUNDS);
        try {
            logger.warn("A round of the event loop failed; the loop goes on", t);
        } catch (Throwable ignored) {
            // Then without a word: no memory, or an appender that fails.
        }
    }

    /** Waits while the device is not polled, for a deadline or a task at most; returns the time then. */
    private long awaitPause(long begin) {
        if (hasTasks()) {
            return begin;
        }
        long limit = isShuttingDown() ? LAST_TASKS_NANOS : Long.MAX_VALUE;
        long deadline = nextScheduledTaskDeadlineNanos();
        if (deadline != -1) {
            limit = Math.min(limit, Math.max(0, deadline - getCurrentTimeNanos()));
        }
        pause.await(begin, limit, this::hasTasks);
        ignoreInterruption();
        return context.nanoTime();
    }

    private static void ignoreInterruption() {
        if (Thread.interrupted()) {
            // Otherwise nothing could block any more.
            logger.debug("The thread of an event loop was interrupted, which has no effect on it");
        }
    }

    @Override
    public Future<?> shutdownGracefully(long quietPeriod, long timeout, TimeUnit unit) {
        if (!isShuttingDown()) {
            shutdownNanos = unit.toNanos(timeout);
        }
        return super.shutdownGracefully(quietPeriod, timeout, unit);
    }

    /** Whether the time-out of the shutdown is over. */
    private boolean isOverdue() {
        return isOverdueBy(0);
    }

    private boolean isOverdueBy(long nanos) {
        long spent = isClosing ? context.nanoTime() - closingSince : 0;
        return spent >= shutdownNanos && spent - shutdownNanos >= nanos;
    }

    /** Closes all channels, and says whether nothing is left to do. */
    private boolean tryEnd() {
        if (!isClosing) {
            isClosing = true;
            closingSince = context.nanoTime();
        }
        boolean isOverdue = isOverdue();
        for (AbstractRdmaChannel channel : List.copyOf(channels)) {
            channel.unsafe().close(channel.unsafe().voidPromise());
            if (isOverdue) {
                channel.cut();
            }
        }
        // Once shut down, a loop takes no tasks: what closing needs has to be over before.
        boolean areClosed = channels.isEmpty() && (isOverdue || !context.isLingering());
        return (areClosed || isOverdueBy(CUT_NANOS)) && confirmShutdown();
    }

    @Override
    protected boolean confirmShutdown() {
        // Netty looks at the time only when a round had no task. What was submitted before the
        // shutdown runs in any case.
        boolean isConfirmed = super.confirmShutdown();
        return isConfirmed || (isShuttingDown() && isOverdue());
    }

    @Override
    protected void cleanup() {
        pool.close();
        context.close();
    }
}
