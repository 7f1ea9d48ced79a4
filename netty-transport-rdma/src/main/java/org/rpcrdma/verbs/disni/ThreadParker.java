// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/** Lets one thread sleep until any other wakes it. An alarm that comes too early is not lost. */
final class ThreadParker {

    private enum State {
        AWAKE,
        ASLEEP,
        RUNG
    }

    private final AtomicReference<State> state = new AtomicReference<>(State.AWAKE);
    private volatile Thread sleeper;

    /** Ends the current, or else the next, {@link #sleep}. */
    void ring() {
        if (state.get() != State.RUNG && state.getAndSet(State.RUNG) == State.ASLEEP) {
            LockSupport.unpark(sleeper);
        }
    }

    /**
     * @param nanos the longest time; {@link Long#MAX_VALUE} is without a limit
     */
    void sleep(long nanos) {
        sleeper = Thread.currentThread();
        if (state.compareAndSet(State.AWAKE, State.ASLEEP)) {
            long start = System.nanoTime();
            while (state.get() == State.ASLEEP) {
                if (nanos == Long.MAX_VALUE) {
                    LockSupport.park(this);
                } else {
                    long left = nanos - (System.nanoTime() - start);
                    if (left <= 0) {
                        break;
                    }
                    LockSupport.parkNanos(this, left);
                }
                if (Thread.interrupted()) {
                    // Parking does not block while the thread is interrupted, which has no meaning
                    // here.
                    break;
                }
            }
        }
        state.set(State.AWAKE);
    }
}
