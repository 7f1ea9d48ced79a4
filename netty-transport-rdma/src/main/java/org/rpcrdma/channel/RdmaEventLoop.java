// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultChannelPromise;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.EventLoopTaskQueueFactory;
import io.netty.channel.SingleThreadEventLoop;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.RejectedExecutionHandler;
import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.util.Iterator;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.EventLoopVerbsContext;

/** Polls one {@link EventLoopVerbsContext}, by an {@link EventLoopDevicePoller}, and runs the tasks of its channels. */
final class RdmaEventLoop extends SingleThreadEventLoop {

    /** Time that tasks may run between two checks of the clock during shutdown. */
    private static final long LAST_TASKS_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /** Time that a loop waits, after aborting its connections, for the close of their channels. */
    private static final long CUT_NANOS = TimeUnit.SECONDS.toNanos(5);

    /** How Netty refuses a channel that the event loop is not for. */
    private static final String INCOMPATIBLE = "incompatible event loop type";

    private final EventLoopVerbsContext context;
    private final long origin;
    private final EventLoopDevicePoller poller;

    private volatile int ioRatio = 50;

    /** Time-out of the shutdown, written before the shutdown begins. */
    private volatile long shutdownNanos;

    private boolean isClosing;
    private long closingSince;

    RdmaEventLoop(
            EventLoopGroup parent,
            Executor executor,
            EventLoopVerbsContext context,
            PollMode mode,
            DirectMemoryBudget budget,
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
        this.poller =
                new EventLoopDevicePoller(
                        context, mode, budget, this, this::inEventLoop, channel -> checkNotOver());
    }

    private static Queue<Runnable> newTaskQueue(EventLoopTaskQueueFactory factory) {
        if (factory != null) {
            return factory.newTaskQueue(DEFAULT_MAX_PENDING_TASKS);
        }
        // Bounded or unbounded MPSC queue, as in Netty's own event loops.
        return DEFAULT_MAX_PENDING_TASKS == Integer.MAX_VALUE
                ? PlatformDependent.newMpscQueue()
                : PlatformDependent.newMpscQueue(DEFAULT_MAX_PENDING_TASKS);
    }

    /** The clock of Netty's scheduled tasks; the oldest supported Netty has no other access to it. */
    private static long nettyNanoTime() {
        return Long.MAX_VALUE - deadlineToDelayNanos(Long.MAX_VALUE);
    }

    /**
     * Scheduled tasks use the clock of the device, with Netty's origin. A Netty version that does not call this method
     * uses {@link System#nanoTime}, as do all devices except simulated ones.
     */
    @Override
    protected long getCurrentTimeNanos() {
        return context.nanoTime() - origin;
    }

    /** Polls the device of this loop. */
    EventLoopDevicePoller poller() {
        return poller;
    }

    /** Sets the share of the time for I/O in percent; 100 runs all tasks without a time limit. */
    void ioRatio(int percent) {
        ioRatio = percent;
    }

    /**
     * @throws RejectedExecutionException when the shutdown has timed out: channels that reconnect on failure would keep
     *     the loop from ending
     */
    private void checkNotOver() {
        if (isShuttingDown() && isOverdue()) {
            throw new RejectedExecutionException("event loop has shut down");
        }
    }

    /**
     * Refuses channels of other transports by a sentence, which Netty's own would not be. Channels without a transport
     * of their own, such as the streams of HTTP/2, take any event loop.
     */
    @Override
    public ChannelFuture register(ChannelPromise promise) {
        if (promise.channel() instanceof AbstractRdmaChannel) {
            return super.register(promise);
        }
        ChannelPromise registered = new DefaultChannelPromise(promise.channel(), this);
        super.register(registered)
                .addListener(
                        done -> {
                            if (done.isSuccess()) {
                                promise.trySuccess();
                            } else {
                                promise.tryFailure(explained(promise.channel(), done.cause()));
                            }
                        });
        return promise;
    }

    private static Throwable explained(Channel channel, Throwable cause) {
        boolean isOfAnother =
                cause instanceof IllegalStateException
                        && String.valueOf(cause.getMessage()).startsWith(INCOMPATIBLE);
        return isOfAnother
                ? new IllegalStateException(
                        "channel: "
                                + channel
                                + " is of another transport (expected: an RDMA channel; give this"
                                + " one a group of its own, such as a NioEventLoopGroup for the"
                                + " datagrams of a DNS resolver, or use Netty 4.2 with"
                                + " RdmaIoHandler.newFactory(), whose loops take NIO channels"
                                + " too)")
                : cause;
    }

    @Override
    public int registeredChannels() {
        return poller.registeredChannels();
    }

    /** The registered channels, read-only. Event loop only. */
    @Override
    public Iterator<Channel> registeredChannelsIterator() {
        assert inEventLoop();
        return poller.copyOfChannels().iterator();
    }

    @Override
    protected void wakeup(boolean inEventLoop) {
        if (!inEventLoop) {
            poller.wakeup();
        }
    }

    @Override
    protected void run() {
        long start = context.nanoTime();
        long lastWork = start;
        for (; ; ) {
            boolean isFailed = false;
            boolean isPolled = poller.pause.failures == 0 || !poller.pause.isOn();
            try {
                boolean worked = false;
                try {
                    worked = isPolled && poller.poll() > 0;
                } catch (Throwable t) {
                    // Tasks, including deadlines, run even if the device fails, and see the failure
                    // counted.
                    isFailed = true;
                    poller.roundFailed(t);
                }
                long polled = context.nanoTime();
                long now = polled;
                // Most rounds have none, and Netty's way to find that is long.
                if ((hasTasks() || hasScheduledTasks()) && tryRunTasks(polled - start)) {
                    worked = true;
                    now = context.nanoTime();
                }
                poller.roundEnded(start, polled, now, worked && !isFailed);
                if (isFailed) {
                    start = now;
                } else if (worked) {
                    lastWork = now;
                    start = now;
                } else {
                    start = isPolled ? idle(now, lastWork) : awaitPause(now);
                }
            } catch (Throwable t) {
                // The other channels of this loop are not affected.
                isFailed = true;
                poller.roundFailed(t);
                start = context.nanoTime();
            }
            if (!isFailed && isPolled && poller.pause.failures > 0) {
                poller.pause.roundSucceeded();
            }
            try {
                if (isShuttingDown() && tryEnd()) {
                    return;
                }
            } catch (Throwable t) {
                poller.roundFailed(t);
            }
        }
    }

    /** Runs tasks; returns whether there were any. */
    private boolean tryRunTasks(long ioNanos) {
        int ratio = ioRatio;
        return ratio == 100 ? super.runAllTasks() : runAllTasks(ioNanos * (100 - ratio) / ratio);
    }

    /** Called during shutdown. A task that resubmits itself must not prevent it. */
    @Override
    protected boolean runAllTasks() {
        // After shutdown the loop accepts no more tasks.
        return isShutdown() ? super.runAllTasks() : runAllTasks(LAST_TASKS_NANOS);
    }

    /** Waits for work; returns the time afterwards. */
    private long idle(long now, long lastWork) throws IOException {
        if (hasTasks() || poller.tryPollAgain(now, lastWork)) {
            return now;
        }
        if (!isShuttingDown()) {
            long deadline = nextScheduledTaskDeadlineNanos();
            // A task added from now on wakes the context: wakeup() ends the current await, or the
            // next one.
            poller.await(deadline == -1 ? -1 : Math.max(0, deadline - getCurrentTimeNanos()));
        } else if (poller.isInUse()) {
            poller.await(LAST_TASKS_NANOS);
        }
        return context.nanoTime();
    }

    /** Waits during a polling pause, at most until the next deadline or task; returns the time afterwards. */
    private long awaitPause(long begin) {
        if (hasTasks()) {
            return begin;
        }
        long limit = isShuttingDown() ? LAST_TASKS_NANOS : Long.MAX_VALUE;
        long deadline = nextScheduledTaskDeadlineNanos();
        if (deadline != -1) {
            limit = Math.min(limit, Math.max(0, deadline - getCurrentTimeNanos()));
        }
        poller.awaitPause(begin, limit, this::hasTasks);
        return context.nanoTime();
    }

    @Override
    public Future<?> shutdownGracefully(long quietPeriod, long timeout, TimeUnit unit) {
        if (!isShuttingDown()) {
            shutdownNanos = unit.toNanos(timeout);
        }
        return super.shutdownGracefully(quietPeriod, timeout, unit);
    }

    /** Whether the shutdown has timed out. */
    private boolean isOverdue() {
        return isOverdueBy(0);
    }

    private boolean isOverdueBy(long nanos) {
        long spent = isClosing ? context.nanoTime() - closingSince : 0;
        return spent >= shutdownNanos && spent - shutdownNanos >= nanos;
    }

    /** Closes all channels; returns whether the loop can end. */
    private boolean tryEnd() {
        if (!isClosing) {
            isClosing = true;
            closingSince = context.nanoTime();
        }
        boolean isOverdue = isOverdue();
        poller.closeChannels();
        if (isOverdue) {
            poller.cut(Long.MAX_VALUE);
        }
        // After shutdown a loop accepts no tasks: tasks needed for closing must run before.
        boolean areClosed =
                poller.registeredChannels() == 0 && (isOverdue || !context.isLingering());
        return (areClosed || isOverdueBy(CUT_NANOS)) && confirmShutdown();
    }

    @Override
    protected boolean confirmShutdown() {
        // Netty checks the time only when a round had no task. Tasks submitted before the shutdown
        // always run.
        boolean isConfirmed = super.confirmShutdown();
        return isConfirmed || (isShuttingDown() && isOverdue());
    }

    @Override
    protected void cleanup() {
        poller.close();
    }
}
