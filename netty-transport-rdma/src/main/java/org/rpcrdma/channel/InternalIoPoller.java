// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.VerbsContext;
import org.rpcrdma.verbs.VerbsProvider;

/**
 * Gives {@code org.rpcrdma.channel.io} access to members of this package: polls a device for an event loop that is not
 * of this library. Not part of the API: may change in any release. Event loop only, unless a method says otherwise.
 */
public final class InternalIoPoller implements AutoCloseable {

    /** What the poller has to know of its event loop, and tells it. Event loop only. */
    public interface Loop {
        /** {@return whether nothing waits, so that the loop may block} */
        boolean canBlock();

        /** {@return the time in nanoseconds until a scheduled task is due, from 0; -1 if there is none} */
        long nanosToNextTask();

        /**
         * A channel is about to be registered.
         *
         * @param channel with this event loop
         * @throws Exception when the loop does not take it
         */
        void register(Channel channel) throws Exception;

        /**
         * A registered channel has left the event loop.
         *
         * @param channel that was registered
         */
        void deregister(Channel channel);
    }

    /** Longest wait between two looks at the channels that are to be closed. */
    private static final long CLOSING_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /** Time that connections of closed channels have for their end on the network. */
    private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final EventLoop eventLoop;
    private final Loop loop;
    private final VerbsContext context;
    private final ChannelPoller poller;

    /** Whether tasks have been added since the last round. */
    private volatile boolean isWoken;

    /** Times of the last round; there is none at first. */
    private long start;

    private long polled;
    private long lastWork;
    private boolean hasWorked = true;
    private boolean isPolled;
    private boolean isFailed;

    private InternalIoPoller(VerbsContext context, PollMode mode, EventLoop eventLoop, Loop loop) {
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
                new ChannelPoller(
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

    /**
     * Opens a device for an event loop, which takes RDMA channels from then on until {@link #close}. Any thread.
     *
     * @param provider of the device
     * @param mode how the loop waits
     * @param eventLoop runs the channels
     * @param loop the same, as the poller sees it
     * @return the poller; the event loop closes it at its end
     * @throws IOException when the device cannot be opened
     */
    public static InternalIoPoller open(
            VerbsProvider provider, PollMode mode, EventLoop eventLoop, Loop loop)
            throws IOException {
        provider.ensureAvailability();
        InternalIoPoller opened = new InternalIoPoller(provider.open(), mode, eventLoop, loop);
        ChannelPollers.add(eventLoop, opened.poller);
        return opened;
    }

    /**
     * Ends the last round, waits if it had nothing to do, and begins the next one by a poll of the device. Throws
     * nothing: a failure of the device is counted, logged, and followed by a pause.
     *
     * @return 0 when the device had nothing to do
     */
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

    /**
     * There is a task. Any thread.
     *
     * @param inEventLoop whether the caller is the event loop
     */
    public void wakeup(boolean inEventLoop) {
        isWoken = true;
        if (!inEventLoop) {
            poller.wakeup();
        }
    }

    /**
     * Closes all channels, and polls until their posted work has been done and their connections have ended, or have
     * had the time that they get. Nothing but the device runs meanwhile.
     */
    public void closeChannels() {
        long begin = context.nanoTime();
        try {
            poller.closeChannels();
            while (poller.isClosing()) {
                long waited = context.nanoTime() - begin;
                poller.cut(waited);
                if (waited >= LINGER_NANOS && !poller.hasOpenChannels()) {
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

    /** Ends the device and the memory. The event loop takes no more RDMA channels. */
    @Override
    public void close() {
        ChannelPollers.remove(eventLoop);
        poller.close();
    }
}
