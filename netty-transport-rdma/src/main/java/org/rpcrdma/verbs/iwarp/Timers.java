// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.util.ArrayDeque;
import java.util.ArrayList;

/** The deadlines of one context. There are few, and only while connections start or end, so they are a list. */
final class Timers {

    private final ArrayList<Timer> timers = new ArrayList<>();

    /** What has expired and was not told yet: one that is told may remove others, and add itself again. */
    private final ArrayDeque<Timer> due = new ArrayDeque<>();

    private final IwarpHost host;
    private long earliest;

    Timers(IwarpHost host) {
        this.host = host;
    }

    /** The time that deadlines are compared with. */
    long nanoTime() {
        return host.nanoTime();
    }

    void add(Timer timer) {
        if (timers.isEmpty() || timer.deadline() - earliest < 0) {
            earliest = timer.deadline();
        }
        timers.add(timer);
    }

    void remove(Timer timer) {
        if (!timers.remove(timer)) {
            due.remove(timer);
        }
    }

    boolean isEmpty() {
        return timers.isEmpty() && due.isEmpty();
    }

    /** Nanoseconds until the next one may expire, 0 or less when it has. Only when there is one. */
    long nanosLeft() {
        return due.isEmpty() ? earliest - nanoTime() : 0;
    }

    /** Tells what has expired. */
    void expire() {
        if (isEmpty() || nanosLeft() > 0) {
            return;
        }
        long now = nanoTime();
        long next = now + Long.MAX_VALUE;
        for (Timer timer : timers) {
            if (timer.deadline() - now <= 0) {
                due.add(timer);
            } else if (timer.deadline() - next < 0) {
                next = timer.deadline();
            }
        }
        timers.removeAll(due);
        earliest = next;
        for (Timer timer = due.poll(); timer != null; timer = due.poll()) {
            timer.expired();
        }
    }
}
