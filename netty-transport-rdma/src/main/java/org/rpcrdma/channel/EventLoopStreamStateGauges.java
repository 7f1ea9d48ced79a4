// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The state of all streams of one event loop. Written by the event loop only; other threads may read slightly old
 * values.
 */
final class EventLoopStreamStateGauges {

    private static final VarHandle VERSION;

    static {
        try {
            VERSION =
                    MethodHandles.lookup()
                            .findVarHandle(EventLoopStreamStateGauges.class, "version", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private long open;
    private long credits;
    private long outputEnded;
    private long inputEnded;

    // The number of waiting streams, and the sum of their times up to the last change of it. A
    // reader adds the time since then, so it needs all three of the same moment.
    private int waiting;
    private long waitedNanos;
    private long waitingSince;

    /** Odd while the three fields change. */
    private int version;

    /** Adds to the number of open streams; negative to subtract, as in the other methods. */
    void open(int more) {
        open += more;
    }

    /** Adds to the credits of the peers. */
    void credits(int more) {
        credits += more;
    }

    /** Adds to the number of streams that only send no more. */
    void outputEnded(int more) {
        outputEnded += more;
    }

    /** Adds to the number of streams that only receive no more. */
    void inputEnded(int more) {
        inputEnded += more;
    }

    /**
     * Adds to the number of streams that wait for their peer.
     *
     * @param nanos the time of the device's clock
     */
    void waiting(int more, long nanos) {
        int before = version;
        VERSION.setOpaque(this, before + 1);
        VarHandle.storeStoreFence();
        waitedNanos += waiting * (nanos - waitingSince);
        waitingSince = nanos;
        waiting += more;
        VERSION.setRelease(this, before + 2);
    }

    /** Open streams. Any thread. */
    long open() {
        return open;
    }

    /** DATA messages that the peers take now. Any thread. */
    long credits() {
        return credits;
    }

    /** Streams that send no more, and still receive. Any thread. */
    long outputEnded() {
        return outputEnded;
    }

    /** Streams that receive no more, and may still send. Any thread. */
    long inputEnded() {
        return inputEnded;
    }

    /** Streams that wait for their peer. Any thread. */
    int waiting() {
        return waiting;
    }

    /**
     * The times that streams have waited for their peers, those that still wait included. Any thread.
     *
     * @param nanos the time of the device's clock
     */
    long waitedNanos(long nanos) {
        while (true) {
            int before = (int) VERSION.getAcquire(this);
            long sum = waitedNanos + waiting * (nanos - waitingSince);
            VarHandle.loadLoadFence();
            if ((before & 1) == 0 && before == (int) VERSION.getOpaque(this)) {
                return sum;
            }
            Thread.onSpinWait();
        }
    }
}
