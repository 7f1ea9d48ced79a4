// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SingleThreadEventLoop;
import io.netty.util.concurrent.RejectedExecutionHandler;
import io.netty.util.internal.PlatformDependent;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.verbs.VerbsContext;

/** Polls one {@link VerbsContext} and runs the tasks of its channels. */
final class RdmaEventLoop extends SingleThreadEventLoop {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(RdmaEventLoop.class);

    /** Completions delivered in one go, so that tasks are not starved. */
    private static final int POLL_BUDGET = 256;

    private static final long SPIN_NANOS = TimeUnit.MICROSECONDS.toNanos(50);

    /** How long a loop that shuts down waits for its channels to drain before it cuts their connections. */
    private static final long CLOSE_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final VerbsContext context;
    private final PollMode mode;
    private final RegisteredBufferPool pool;
    private final Set<AbstractRdmaChannel> channels = new LinkedHashSet<>();

    /** Channels with something to deliver, each at most once. */
    private final ArrayDeque<AbstractRdmaChannel> ready = new ArrayDeque<>();

    private long closingSince;

    RdmaEventLoop(
            EventLoopGroup parent,
            Executor executor,
            VerbsContext context,
            PollMode mode,
            RejectedExecutionHandler rejectedHandler) {
        super(parent, executor, false, newTaskQueue0(), newTaskQueue0(), rejectedHandler);
        this.context = context;
        this.mode = mode;
        this.pool = new RegisteredBufferPool(context, this::inEventLoop);
    }

    private static Queue<Runnable> newTaskQueue0() {
        return PlatformDependent.newMpscQueue();
    }

    VerbsContext context() {
        return context;
    }

    RegisteredBufferPool pool() {
        return pool;
    }

    void add(AbstractRdmaChannel channel) {
        channels.add(channel);
    }

    void remove(AbstractRdmaChannel channel) {
        channels.remove(channel);
    }

    /** Has {@link AbstractRdmaChannel#deliver()} called once the current poll is over. */
    void ready(AbstractRdmaChannel channel) {
        ready.add(channel);
    }

    @Override
    public int registeredChannels() {
        return channels.size();
    }

    @Override
    public Iterator<Channel> registeredChannelsIterator() {
        assert inEventLoop();
        return new ArrayList<Channel>(channels).iterator();
    }

    @Override
    protected void wakeup(boolean inEventLoop) {
        if (!inEventLoop) {
            context.wakeup();
        }
    }

    @Override
    protected void run() {
        long lastWork = System.nanoTime();
        for (; ; ) {
            try {
                boolean worked = pollOnce();
                worked |= runAllTasks();
                if (worked) {
                    lastWork = System.nanoTime();
                } else {
                    idle(lastWork);
                }
            } catch (Error e) {
                throw e;
            } catch (Throwable t) {
                handleLoopException(t);
            }
            if (isShuttingDown()) {
                closeAll();
                // Once shut down, a loop takes no tasks: what closing needs has to be over before.
                if (channels.isEmpty() && confirmShutdown()) {
                    return;
                }
            }
        }
    }

    private boolean pollOnce() {
        boolean worked = context.poll(POLL_BUDGET) > 0;
        // What becomes ready during delivery waits for the next round, so that one channel cannot
        // keep the loop.
        for (int i = ready.size(); i > 0; i--) {
            ready.poll().deliver();
            worked = true;
        }
        return worked;
    }

    private void idle(long lastWork) throws IOException {
        if (hasTasks() || !ready.isEmpty() || isShuttingDown()) {
            return;
        }
        boolean recent = System.nanoTime() - lastWork < SPIN_NANOS;
        if (mode == PollMode.BUSY || (mode == PollMode.ADAPTIVE && recent)) {
            Thread.onSpinWait();
            return;
        }
        long deadline = nextScheduledTaskDeadlineNanos();
        // A task that is added from now on wakes the context: wakeup() ends the current await or
        // else the next one.
        context.await(deadline == -1 ? -1 : deadlineToDelayNanos(deadline));
    }

    private static void handleLoopException(Throwable t) {
        logger.warn("Unexpected exception in the RDMA event loop.", t);
        try {
            // A permanent fault must not take the whole CPU.
            Thread.sleep(1000);
        } catch (InterruptedException ignored) {
            // The loop goes on; shutdown does not use interrupts.
        }
    }

    private void closeAll() {
        if (channels.isEmpty()) {
            return;
        }
        long now = System.nanoTime();
        if (closingSince == 0) {
            closingSince = now;
        }
        for (AbstractRdmaChannel channel : new ArrayList<>(channels)) {
            channel.unsafe().close(channel.unsafe().voidPromise());
            if (now - closingSince > CLOSE_NANOS) {
                channel.cut();
            }
        }
    }

    @Override
    protected void cleanup() {
        pool.close();
        context.close();
    }
}
