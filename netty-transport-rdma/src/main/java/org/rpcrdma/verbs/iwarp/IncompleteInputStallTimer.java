// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.function.Predicate;

/**
 * Checks the streams of a context for FPDUs, messages and reads that make no progress, a few times within the limit. A
 * byte that arrives costs no look at the clock, and a context with nothing incomplete has no timer.
 */
final class IncompleteInputStallTimer implements DeadlineTask {

    private final DeadlineTaskQueue timers;
    private final Collection<OpenStreamRunQueueEntry> streams;
    private final Predicate<OpenStreamRunQueueEntry> look;
    private final long interval;
    private boolean isOn;
    private long deadline;

    /**
     * @param look checks a stream and returns whether it has incomplete input; may end the stream
     * @param limit zero for none
     */
    IncompleteInputStallTimer(
            DeadlineTaskQueue timers,
            Collection<OpenStreamRunQueueEntry> streams,
            Predicate<OpenStreamRunQueueEntry> look,
            Duration limit) {
        this.timers = timers;
        this.streams = streams;
        this.look = look;
        this.interval = limit.toNanos() / IncompleteInputStallDetector.LOOKS;
    }

    /** Something was begun on a stream. */
    void begin() {
        if (!isOn && interval > 0) {
            isOn = true;
            deadline = timers.nanoTime() + interval;
            timers.add(this);
        }
    }

    @Override
    public long deadline() {
        return deadline;
    }

    @Override
    public void expired() {
        isOn = false;
        if (checkStreams()) {
            begin();
        }
    }

    /** Looks at all streams; returns whether something is begun on one of them. */
    boolean checkStreams() {
        boolean isBegun = false;
        for (OpenStreamRunQueueEntry stream : List.copyOf(streams)) {
            isBegun |= look.test(stream);
        }
        return isBegun;
    }
}
