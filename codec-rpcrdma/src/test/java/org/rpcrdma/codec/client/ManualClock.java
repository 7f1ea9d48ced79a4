// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.DefaultPromise;
import io.netty.util.concurrent.Future;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Stands still until a test moves it. What is due then runs on its event loop. Any thread. */
public final class ManualClock implements RequesterClockAndTimers {

    private final List<Timer> timers = new ArrayList<>();

    /** Overflows soon, as the machine's may. */
    private long now = Long.MAX_VALUE - TimeUnit.MILLISECONDS.toNanos(10);

    @Override
    public synchronized long nanoTime() {
        return now;
    }

    @Override
    public synchronized Future<?> schedule(EventLoop loop, Runnable task, long nanos) {
        Timer timer = new Timer(loop, task, now + nanos);
        if (nanos <= 0) {
            timer.goOff();
        } else {
            timers.add(timer);
        }
        return timer;
    }

    /** Lets time pass. */
    public synchronized void advanceMillis(long millis) {
        now += TimeUnit.MILLISECONDS.toNanos(millis);
        List<Timer> due = new ArrayList<>(timers);
        due.removeIf(timer -> timer.deadline - now > 0);
        due.sort(Comparator.comparingLong(timer -> timer.deadline - now));
        timers.removeAll(due);
        due.forEach(Timer::goOff);
    }

    private static final class Timer extends DefaultPromise<Void> {
        private final EventLoop loop;
        private final Runnable task;
        private final long deadline;

        Timer(EventLoop loop, Runnable task, long deadline) {
            super(loop);
            this.loop = loop;
            this.task = task;
            this.deadline = deadline;
        }

        void goOff() {
            loop.execute(
                    () -> {
                        if (setUncancellable()) {
                            task.run();
                        }
                    });
        }
    }
}
