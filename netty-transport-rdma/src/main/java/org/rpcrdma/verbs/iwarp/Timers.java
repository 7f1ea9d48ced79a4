// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.util.ArrayList;

/** The deadlines of one context. There are few, and only while connections start or end, so they are a list. */
final class Timers {

    private final ArrayList<Timer> timers = new ArrayList<>();
    private long earliest;

    void add(Timer timer) {
        if (timers.isEmpty() || timer.deadline() - earliest < 0) {
            earliest = timer.deadline();
        }
        timers.add(timer);
    }

    void remove(Timer timer) {
        timers.remove(timer);
    }

    boolean isEmpty() {
        return timers.isEmpty();
    }

    /** Nanoseconds until the next one may expire, 0 or less when it has. Only when there is one. */
    long nanosLeft() {
        return earliest - System.nanoTime();
    }

    /** Runs what has expired and returns how many that were. */
    int expire() {
        if (timers.isEmpty() || nanosLeft() > 0) {
            return 0;
        }
        long now = System.nanoTime();
        ArrayList<Timer> due = new ArrayList<>();
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
        due.forEach(Timer::expired);
        return due.size();
    }
}
