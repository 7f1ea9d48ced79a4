// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/** Parks one thread until any other unparks it. An {@link #unpark} that comes first is not lost. */
final class ThreadParker {

    private enum State {
        RUNNING,
        PARKED,
        UNPARKED
    }

    private final AtomicReference<State> state = new AtomicReference<>(State.RUNNING);
    private volatile Thread thread;

    /** Ends the current, or else the next, {@link #park}. */
    void unpark() {
        if (state.get() != State.UNPARKED && state.getAndSet(State.UNPARKED) == State.PARKED) {
            LockSupport.unpark(thread);
        }
    }

    /**
     * @param nanos the longest time; {@link Long#MAX_VALUE} is without a limit
     */
    void park(long nanos) {
        thread = Thread.currentThread();
        if (state.compareAndSet(State.RUNNING, State.PARKED)) {
            long start = System.nanoTime();
            while (state.get() == State.PARKED) {
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
        state.set(State.RUNNING);
    }
}
