// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.util.IdentityHashMap;
import java.util.TreeSet;

/** Timers of one context, the next deadline first. Thousands of connections may close at a time. */
final class DeadlineTaskQueue {

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

    private final TreeSet<Entry> entries = new TreeSet<>();
    private final IdentityHashMap<DeadlineTask, Entry> byTimer = new IdentityHashMap<>();
    private final IwarpHost host;
    private long added;

    DeadlineTaskQueue(IwarpHost host) {
        this.host = host;
    }

    /** The time that deadlines are compared with. */
    long nanoTime() {
        return host.nanoTime();
    }

    /** Adds a timer, or one that is there again with another deadline. */
    void add(DeadlineTask timer) {
        remove(timer);
        Entry entry = new Entry(timer.deadline(), added++, timer);
        byTimer.put(timer, entry);
        entries.add(entry);
    }

    void remove(DeadlineTask timer) {
        Entry entry = byTimer.remove(timer);
        if (entry != null) {
            entries.remove(entry);
        }
    }

    boolean isEmpty() {
        return entries.isEmpty();
    }

    /** Nanoseconds until the next one expires, 0 or less when it has. Only when there is one. */
    long nanosLeft() {
        return entries.first().deadline - nanoTime();
    }

    /** Runs all expired timers. Timers added meanwhile expire in the next round at the earliest. */
    void expire() {
        long now = nanoTime();
        long end = added;
        while (!isEmpty()) {
            Entry next = entries.first();
            if (next.deadline - now > 0 || next.number >= end) {
                return;
            }
            remove(next.timer);
            next.timer.expired();
        }
    }
}
