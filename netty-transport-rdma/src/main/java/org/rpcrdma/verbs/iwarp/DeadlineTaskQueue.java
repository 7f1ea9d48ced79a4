// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.IdentityHashMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.verbs.FailureLog;

/** Timers of one context, the next deadline first. Thousands of connections may close at a time. */
final class DeadlineTaskQueue {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(DeadlineTaskQueue.class);

    /** Task with the deadline that it had when it was added; those of equal deadlines expire in that order. */
    private record Entry(long deadline, long number, DeadlineTask timer)
            implements Comparable<Entry> {

        @Override
        public int compareTo(Entry other) {
            // Deadlines wrap, so only their difference counts.
            int byDeadline = Long.compare(deadline - other.deadline, 0);
            return byDeadline != 0 ? byDeadline : Long.compare(number, other.number);
        }
    }

    /** How long all timers wait after one that lacked memory: the rounds meanwhile may give some back. */
    private static final long REST_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final TreeSet<Entry> entries = new TreeSet<>();
    private final IdentityHashMap<DeadlineTask, Entry> byTimer = new IdentityHashMap<>();
    private final IwarpHost host;
    private long added;
    private boolean rests;
    private long restEnd;

    /** The entry whose task is called; it stays queued until that has come to its end. */
    private Entry expiring;

    DeadlineTaskQueue(IwarpHost host) {
        this.host = host;
    }

    /** The time that deadlines are compared with. */
    long nanoTime() {
        return host.nanoTime();
    }

    /** Adds a timer, or one that is there again with another deadline. Where that fails, the former one stays. */
    void add(DeadlineTask timer) {
        Entry entry = new Entry(timer.deadline(), added++, timer);
        entries.add(entry);
        Entry former;
        try {
            former = byTimer.put(timer, entry);
        } catch (Error e) {
            entries.remove(entry);
            throw e;
        }
        if (former != null) {
            entries.remove(former);
        }
    }

    void remove(DeadlineTask timer) {
        Entry entry = byTimer.get(timer);
        if (entry != null && entry != expiring) {
            removeNow(entry);
        }
    }

    private void removeNow(Entry entry) {
        byTimer.remove(entry.timer);
        entries.remove(entry);
    }

    boolean isEmpty() {
        return entries.isEmpty();
    }

    /** Nanoseconds until the next one expires, 0 or less when it has. Only when there is one. */
    long nanosLeft() {
        long now = nanoTime();
        long left = entries.first().deadline - now;
        return rests ? Math.max(left, restEnd - now) : left;
    }

    /**
     * Runs all expired timers. Timers added meanwhile expire in the next round at the earliest. One that lacks memory
     * expires again a little later, although it may have removed itself, and is not thrown for: memory may come back
     * by what the round does next.
     */
    void expire() {
        long now = nanoTime();
        if (rests && restEnd - now > 0) {
            return;
        }
        rests = false;
        long end = added;
        OutOfMemoryError lack = null;
        Entry next = isEmpty() ? null : entries.first();
        while (next != null && next.deadline - now <= 0 && next.number < end) {
            boolean stays = false;
            expiring = next;
            try {
                next.timer.expired();
            } catch (OutOfMemoryError e) {
                // It is still queued: to put it back would need memory too.
                stays = true;
                lack = e;
            } finally {
                expiring = null;
                if (!stays && byTimer.get(next.timer) == next) {
                    removeNow(next);
                }
            }
            next = entries.higher(next);
        }
        if (lack != null) {
            rests = true;
            restEnd = now + REST_NANOS;
            FailureLog.warn(LOGGER, "Timers lack memory, and expire again", lack);
        }
    }
}
