// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.channel.EventLoop;
import io.netty.channel.SingleThreadEventLoop;
import java.nio.channels.ClosedChannelException;
import java.util.function.LongSupplier;
import org.HdrHistogram.Histogram;

/**
 * Makes the calls of one connection, on its event loop. Without a rate each answered call is followed by the next one.
 * With a rate calls are due at fixed intervals, whether others are answered or not, and a call's latency counts from
 * when it was due: a server that stops for a while is late for all calls of that while, not for one.
 */
abstract class Driver {

    static final int MAX_OUTSTANDING = 64;

    /** Replies may overtake each other a little. */
    private static final int STARTS = MAX_OUTSTANDING * 16;

    /** Told on the event loop. */
    interface Listener {
        /** All calls of a window are answered. */
        void finished(long calls);

        void failed(Throwable cause);
    }

    private final Listener listener;
    private final LongSupplier clock;
    private final long[] starts = new long[STARTS];
    private final Runnable sending = this::sendDue;
    private final Runnable nextRound = this::sendInNextRound;
    private Histogram latencies;
    private Work work;
    private long begin;
    private long end;
    private long due;
    private long scheduled;
    private double interval;
    private int id;
    private int out;
    private long calls;
    private boolean isPacing;

    Driver(Listener listener) {
        this(listener, System::nanoTime);
    }

    /**
     * @param clock in nanoseconds
     */
    Driver(Listener listener, LongSupplier clock) {
        this.listener = listener;
        this.clock = clock;
    }

    abstract EventLoop loop();

    /** Makes one call; it may go out with those that follow. {@link #answered} is told the id. */
    abstract void call(Work kind, int callId);

    /** Has all calls go out. */
    abstract void flush();

    /** Begins a window; on the event loop, when the last one is finished. */
    final void start(Work next, long endNanos, Histogram takesNanos) {
        work = next;
        latencies = takesNanos;
        begin = clock.getAsLong();
        end = endNanos;
        calls = 0;
        if (next.rate() > 0) {
            interval = 1e9 * next.connections() / next.rate();
            scheduled = 0;
            due = begin;
            isPacing = true;
            sendDue();
            return;
        }
        for (int i = 0; i < next.outstanding(); i++) {
            send(clock.getAsLong());
        }
        flush();
    }

    private void send(long start) {
        int next = ++id;
        out++;
        starts[next & (STARTS - 1)] = start;
        call(work, next);
    }

    /** Once in each round of the event loop. Calls that are late beyond all bounds are not made, but for the first. */
    private void sendDue() {
        long now = clock.getAsLong();
        boolean any = false;
        while (due - now <= 0 && isDueInWindow() && out < MAX_OUTSTANDING) {
            send(due);
            due = begin + (long) (++scheduled * interval);
            any = true;
        }
        if (any) {
            flush();
        }
        isPacing = due - end < 0 && now - end < end - begin;
        if (isPacing) {
            ((SingleThreadEventLoop) loop()).executeAfterEventLoopIteration(nextRound);
        } else if (out == 0) {
            listener.finished(calls);
        }
    }

    /** A window that begins when it would be over has its first call all the same. */
    private boolean isDueInWindow() {
        return due - end < 0 || scheduled == 0;
    }

    private void sendInNextRound() {
        loop().execute(sending);
    }

    final void answered(int callId) {
        long now = clock.getAsLong();
        latencies.recordValue(Math.max(0, now - starts[callId & (STARTS - 1)]));
        calls++;
        out--;
        if (work.rate() > 0) {
            if (out == 0 && !isPacing) {
                listener.finished(calls);
            }
        } else if (now - end < 0) {
            send(now);
        } else if (out == 0) {
            listener.finished(calls);
        }
    }

    /** Whether the call that is being made is the only one out. */
    final boolean isQuiet() {
        return out == 1;
    }

    final void failed(Throwable cause) {
        listener.failed(cause);
    }

    final void closed() {
        listener.failed(new ClosedChannelException());
    }
}
