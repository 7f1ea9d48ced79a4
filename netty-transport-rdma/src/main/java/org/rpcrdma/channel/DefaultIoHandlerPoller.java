// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.internal.IoHandlerPoller;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.VerbsProvider;

/** The only {@link IoHandlerPoller}. Closes the channels of an event loop that ends. */
final class DefaultIoHandlerPoller implements IoHandlerPoller {

    /** Opens them. */
    static final class Opener extends IoHandlerPoller.Factory {
        @Override
        protected IoHandlerPoller opened(
                VerbsProvider provider, PollMode mode, EventLoop eventLoop, Loop loop)
                throws IOException {
            provider.ensureAvailability();
            DefaultIoHandlerPoller opened =
                    new DefaultIoHandlerPoller(provider.open(), mode, eventLoop, loop);
            EventLoopPollerRegistry.add(eventLoop, opened.poller);
            return opened;
        }
    }

    /** Longest wait between two looks at the channels that are to be closed. */
    private static final long CLOSING_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /**
     * Time that connections of closed channels have for their end on the network, and the longest that a channel waits
     * for posted work: more than DRAIN_MILLIS by default.
     */
    private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final EventLoop eventLoop;
    private final Loop loop;
    private final EventLoopVerbsContext context;
    private final EventLoopDevicePoller poller;

    /** Whether tasks have been added since the last round. */
    private volatile boolean isWoken;

    /** Times of the last round; there is none at first. */
    private long start;

    private long polled;
    private long lastWork;
    private boolean hasWorked = true;
    private boolean isPolled;
    private boolean isFailed;

    private DefaultIoHandlerPoller(
            EventLoopVerbsContext context, PollMode mode, EventLoop eventLoop, Loop loop) {
        this.eventLoop = eventLoop;
        this.loop = loop;
        this.context = context;
        ChannelRegistrar registrar =
                new ChannelRegistrar() {
                    @Override
                    public void register(Channel channel) throws Exception {
                        loop.register(channel);
                    }

                    @Override
                    public void deregister(Channel channel) {
                        loop.deregister(channel);
                    }
                };
        this.poller =
                new EventLoopDevicePoller(
                        context,
                        mode,
                        DirectMemoryBudget.jvm(),
                        eventLoop,
                        eventLoop::inEventLoop,
                        registrar);
        this.start = context.nanoTime();
        this.polled = start;
        this.lastWork = start;
    }

    @Override
    public int poll() {
        boolean hadTasks = isWoken;
        if (hadTasks) {
            isWoken = false;
        }
        try {
            endRound(hadTasks);
        } catch (Throwable t) {
            isFailed = true;
            poller.roundFailed(t);
            start = context.nanoTime();
        }
        int work = 0;
        isFailed = false;
        isPolled = !poller.pause.isOn();
        try {
            if (isPolled) {
                work = poller.poll();
            }
        } catch (Throwable t) {
            isFailed = true;
            poller.roundFailed(t);
        }
        hasWorked = work > 0;
        polled = context.nanoTime();
        return work;
    }

    @Override
    public long activeNanos() {
        return hasWorked ? polled - start : 0;
    }

    private void endRound(boolean hadTasks) throws IOException {
        long now = context.nanoTime();
        boolean worked = !isFailed && (hasWorked || hadTasks);
        poller.roundEnded(start, polled, now, worked);
        if (worked) {
            lastWork = now;
        }
        start = worked || isFailed || !loop.canBlock() ? now : idle(now);
        if (isPolled && !isFailed) {
            poller.pause.roundSucceeded();
        }
    }

    private long idle(long now) throws IOException {
        if (!isPolled) {
            long limit = loop.nanosToNextTask();
            poller.awaitPause(now, limit < 0 ? Long.MAX_VALUE : limit, () -> !loop.canBlock());
        } else if (poller.tryPollAgain(now, lastWork)) {
            return now;
        } else {
            poller.await(loop.nanosToNextTask());
        }
        return context.nanoTime();
    }

    @Override
    public void wakeup(boolean inEventLoop) {
        isWoken = true;
        if (!inEventLoop) {
            poller.wakeup();
        }
    }

    @Override
    public void closeChannels() {
        long begin = context.nanoTime();
        try {
            poller.closeChannels();
            while (poller.isClosing()) {
                long waited = context.nanoTime() - begin;
                boolean isOver = waited >= LINGER_NANOS;
                // The loop runs no task meanwhile: a user's SO_LINGER cannot be its only bound.
                poller.cut(isOver ? Long.MAX_VALUE : waited);
                if (isOver && !poller.hasOpenChannels()) {
                    return;
                }
                if (poller.poll() == 0) {
                    poller.await(CLOSING_NANOS);
                }
            }
        } catch (Throwable t) {
            // The device can do no more for them.
            poller.roundFailed(t);
            poller.cut(Long.MAX_VALUE);
        }
    }

    @Override
    public void close() {
        EventLoopPollerRegistry.remove(eventLoop);
        poller.close();
    }
}
