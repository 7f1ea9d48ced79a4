// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.Channel;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.rpcrdma.channel.memory.RegisteredBufferPool;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.FailureLog;

/**
 * Polls one {@link EventLoopVerbsContext} for the channels of an event loop, and keeps what they share: registered
 * memory, counters, and the queue of channels with inbound data. Event loop only, unless a method says otherwise.
 */
final class EventLoopDevicePoller {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(EventLoopDevicePoller.class);

    /** The most events delivered per poll. */
    private static final int POLL_BUDGET = 256;

    /** Events and received bytes of one round after which tasks run, though more connections are ready. */
    private static final int MOST_WORK = 32 << 10;

    /** Deliveries of one round after which tasks run: what they answer may be longer than what has come. */
    private static final int MOST_DELIVERIES = 64;

    /** Time that a busy loop without work polls before it yields its CPU at each poll. */
    private static final long SPIN_NANOS = TimeUnit.MICROSECONDS.toNanos(50);

    private static final long STALL_NANOS =
            TimeUnit.MILLISECONDS.toNanos(RdmaEventLoopGroup.STALL_MILLIS);

    private static final String INTERRUPTED =
            "The thread of an event loop was interrupted, which has no effect on it";

    final EventLoopVerbsContext context;
    private final PollMode mode;
    private final Executor loop;
    private final ChannelRegistrar registrar;

    /** Says when the device is not polled, because it fails again and again. */
    final PollFailureBackOff pause;

    /** {@code null} unless the mode is {@link PollMode#ADAPTIVE}. */
    private final AdaptivePolling polling;

    final RegisteredBufferPool pool;
    private final Set<AbstractRdmaChannel> channels = new LinkedHashSet<>();

    private final EventLoopCounters counters = new EventLoopCounters();
    private final EventLoopPostedReceiveCounters receives = new EventLoopPostedReceiveCounters();
    private final EventLoopStreamStateGauges streams = new EventLoopStreamStateGauges();
    private final RateLimitedLogger log = new RateLimitedLogger();

    /** Channels with inbound data, each at most once. */
    private final ArrayDeque<AbstractRdmaChannel> ready = new ArrayDeque<>();

    /** The channel of the last poll with deliveries, if only one had any; otherwise {@code null}. */
    private AbstractRdmaChannel onlyDelivered;

    /** Whether the poll before had the same single channel, and no other one was ready. */
    private boolean isAlone;

    /**
     * @param loop runs tasks of this poller on the thread that polls
     * @param inEventLoop whether the caller is that thread
     */
    EventLoopDevicePoller(
            EventLoopVerbsContext context,
            PollMode mode,
            DirectMemoryBudget budget,
            Executor loop,
            BooleanSupplier inEventLoop,
            ChannelRegistrar registrar) {
        this.context = context;
        this.mode = mode;
        this.loop = loop;
        this.registrar = registrar;
        this.pause = new PollFailureBackOff(context);
        this.polling = AdaptivePolling.of(mode, context.nanoTime());
        this.pool =
                new RegisteredBufferPool(
                        context,
                        budget,
                        inEventLoop,
                        this::callCollector,
                        TransportFlightEvents::memoryRefused);
    }

    private void callCollector() {
        try {
            loop.execute(pool::collect);
        } catch (RejectedExecutionException e) {
            // The loop is about to end, and closing the pool collects too.
            logger.trace("The pool collects when it is closed", e);
        }
    }

    // ------------------------------------------------------------------ what channels use

    EventLoopVerbsContext context() {
        return context;
    }

    /** Sets another limit than that of the process, before the loop runs: for hosts that share a process in tests. */
    void limitPolling(PollingEventLoopLimit limit) {
        if (polling != null) {
            polling.limit(limit);
        }
    }

    RateLimitedLogger log() {
        return log;
    }

    EventLoopPostedReceiveCounters receives() {
        return receives;
    }

    EventLoopStreamStateGauges streams() {
        return streams;
    }

    void count(RdmaCounter counter) {
        counters.add(counter, 1);
    }

    void count(RdmaCounter counter, long amount) {
        counters.add(counter, amount);
    }

    /** Any thread; -1 when the device does not count it. */
    long value(RdmaCounter counter) {
        return switch (counter) {
            case MEMORY_REFUSALS -> pool.refusals();
            case REGISTRATIONS -> pool.registrations();
            case RECEIVES_LOW -> receives.low();
            case STREAM_WAIT_NANOS -> streams.waitedNanos(context.nanoTime());
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

    /**
     * @throws RejectedExecutionException when the loop takes no more channels
     */
    void add(AbstractRdmaChannel channel) throws Exception {
        registrar.register(channel);
        channels.add(channel);
    }

    void remove(AbstractRdmaChannel channel) {
        if (channels.remove(channel)) {
            registrar.deregister(channel);
        }
        if (onlyDelivered == channel) {
            onlyDelivered = null;
        }
    }

    /** Schedules {@link AbstractRdmaChannel#deliver()} after the current poll. */
    void ready(AbstractRdmaChannel channel) {
        ready.add(channel);
    }

    /**
     * Whether this loop polls while it waits, and the last two polls with deliveries were for this channel only. Where
     * it blocks, a peer is likely to block, too, and smaller batches would wake both up more often.
     */
    boolean isBusyWithOnly(AbstractRdmaChannel channel) {
        return isAlone
                && onlyDelivered == channel
                && (polling == null ? mode == PollMode.BUSY : polling.isPolling());
    }

    /** The number of registered channels. Any thread. */
    int registeredChannels() {
        return channels.size();
    }

    /** The registered channels, in the order of their registration. */
    List<Channel> copyOfChannels() {
        return List.copyOf(channels);
    }

    // ------------------------------------------------------------------ a round

    /**
     * Polls the device and delivers, and repeats both while connections are known to be ready, so that tasks run after
     * a batch of them. A poll that has found nothing is the last one.
     *
     * @return the number of events, bytes and deliveries, at most {@link Integer#MAX_VALUE}
     */
    int poll() {
        long work = 0;
        int deliveries = 0;
        int polled;
        try {
            do {
                polled = context.poll(POLL_BUDGET);
                work += polled;
                // Channels that become ready during delivery wait for the next poll, so that one
                // channel cannot monopolize the loop.
                int channels = ready.size();
                if (channels > 0) {
                    AbstractRdmaChannel only = channels == 1 ? ready.peek() : null;
                    if (only != null && (!only.isRegistered() || context.hasReadyConnections())) {
                        only = null; // no reference to a closed channel; others are served next
                    }
                    isAlone = only != null && only == onlyDelivered;
                    onlyDelivered = only;
                    deliveries += channels;
                    for (int i = channels; i > 0; i--) {
                        ready.poll().deliver();
                        work += context.deliverQueued();
                    }
                }
            } while (polled > 0
                    && work < MOST_WORK
                    && deliveries < MOST_DELIVERIES
                    && context.hasReadyConnections());
        } finally {
            counters.add(RdmaCounter.WORK, work);
        }
        return (int) Math.min(work + deliveries, Integer.MAX_VALUE);
    }

    /**
     * A round, of a poll and of tasks, has ended.
     *
     * @param start when the poll began
     * @param polled when tasks began
     * @param now when they were done
     * @param worked whether there was anything to do, and the poll did not fail
     */
    void roundEnded(long start, long polled, long now, boolean worked) {
        counters.add(RdmaCounter.ROUNDS, 1);
        if (polling != null) {
            polling.roundEnded(start, now, worked);
        }
        if (worked) {
            counters.add(RdmaCounter.ROUNDS_WITH_WORK, 1);
            counters.add(RdmaCounter.IO_NANOS, polled - start);
            counters.add(RdmaCounter.TASK_NANOS, now - polled);
            if (now - start > STALL_NANOS) {
                counters.add(RdmaCounter.STALLS, 1);
                TransportFlightEvents.stall(polled - start, now - polled);
            }
        }
    }

    void roundFailed(Throwable t) {
        stopPolling();
        pause.roundFailed();
        counters.add(RdmaCounter.FAILED_ROUNDS, 1);
        FailureLog.warn(logger, "A round of the event loop failed; the loop goes on", t);
    }

    // ------------------------------------------------------------------ waiting

    /** There is nothing to do; returns whether to poll again at once, otherwise the loop blocks. */
    @SuppressWarnings("ThreadPriorityCheck") // a loop that never blocks can only yield
    boolean tryPollAgain(long now, long lastWork) {
        if (!ready.isEmpty()) {
            return true;
        }
        if (mode == PollMode.BUSY) {
            if (now - lastWork < SPIN_NANOS) {
                Thread.onSpinWait();
            } else {
                // Cheap on a dedicated CPU; on a shared CPU it lets other threads run.
                Thread.yield();
            }
            return true;
        }
        if (polling != null && polling.tryPoll(lastWork, now)) {
            Thread.onSpinWait();
            return true;
        }
        counters.add(RdmaCounter.SLEEPS, 1);
        return false;
    }

    /**
     * Blocks until there is work or {@link #wakeup} is called, which ends this wait or else the next one.
     *
     * @param nanos the longest time, negative for no limit
     */
    void await(long nanos) throws IOException {
        context.await(nanos);
        if (Thread.interrupted()) {
            // Clears the flag, otherwise no wait would block again.
            logger.debug(INTERRUPTED);
        }
    }

    /** Waits while the device is not polled, at most for a time. */
    void awaitPause(long begin, long limitNanos, BooleanSupplier hasTasks) {
        pause.await(begin, limitNanos, hasTasks);
        if (Thread.interrupted()) {
            logger.debug(INTERRUPTED);
        }
    }

    /** Ends a wait of the event loop. Any other thread. */
    void wakeup() {
        context.wakeup();
        pause.wakeup();
    }

    // ------------------------------------------------------------------ the end

    /** Whether channels are registered, or connections of closed ones have not ended on the network. */
    boolean isInUse() {
        return !channels.isEmpty() || context.isLingering();
    }

    /** Closes all channels. Those with posted work finish it first, unless they were told to {@link #cut}. */
    void closeChannels() {
        for (AbstractRdmaChannel channel : List.copyOf(channels)) {
            channel.unsafe().close(channel.unsafe().voidPromise());
        }
    }

    /** Ends closes that have waited for posted work as long as their channel allows. */
    void cut(long waitedNanos) {
        for (AbstractRdmaChannel channel : List.copyOf(channels)) {
            if (waitedNanos >= TimeUnit.MILLISECONDS.toNanos(channel.drainMillis())) {
                channel.cut();
            }
        }
    }

    /** Whether a channel is open, or closes and waits for posted work. */
    boolean hasOpenChannels() {
        for (AbstractRdmaChannel channel : channels) {
            if (channel.isOpen()) {
                return true;
            }
        }
        return false;
    }

    /** Whether {@link #closeChannels} has not ended: a channel is open, or a connection still on the network. */
    boolean isClosing() {
        return hasOpenChannels() || context.isLingering();
    }

    /** Releases memory and device. Work that is still posted is lost. */
    void close() {
        cut(Long.MAX_VALUE);
        stopPolling();
        pool.close();
        context.close();
    }

    private void stopPolling() {
        if (polling != null) {
            polling.stop();
        }
    }
}
