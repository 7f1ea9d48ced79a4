// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.time.Duration;
import java.util.function.BooleanSupplier;

/**
 * Checks the streams of a context for FPDUs, messages and reads that make no progress, a few times within the limit. A
 * byte that arrives costs no look at the clock, and a context with nothing incomplete has no timer.
 */
final class IncompleteInputStallTimer implements DeadlineTask {

    private final DeadlineTaskQueue timers;
    private final BooleanSupplier look;
    private final long interval;
    private boolean isOn;
    private long deadline;

    /**
     * @param look checks all streams and returns whether one of them has incomplete input; may end some
     * @param limit zero for none
     */
    IncompleteInputStallTimer(DeadlineTaskQueue timers, BooleanSupplier look, Duration limit) {
        this.timers = timers;
        this.look = look;
        this.interval = limit.toNanos() / IncompleteInputStallDetector.LOOKS;
    }

    /** Something was begun on a stream. */
    void begin() {
        if (!isOn && interval > 0) {
            deadline = timers.nanoTime() + interval;
            timers.add(this);
            // Behind it: a timer that is on and not queued would never expire.
            isOn = true;
        }
    }

    @Override
    public long deadline() {
        return deadline;
    }

    /** Where memory is lacking, called again. */
    @Override
    public void expired() {
        isOn = false;
        if (checkStreams()) {
            begin();
        }
    }

    /** Looks at all streams; returns whether something is begun on one of them. */
    boolean checkStreams() {
        return look.getAsBoolean();
    }
}
