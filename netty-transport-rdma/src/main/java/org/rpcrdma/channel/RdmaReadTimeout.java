// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import org.rpcrdma.verbs.QueuePair;

/**
 * Time-out of RDMA Reads: ends a connection whose peer does not answer, because the sink holds memory that other
 * connections may need. Checks periodically whether the oldest work is a Read without progress since the last check; so
 * a Read does not read the clock, and a channel without Reads has no timer. Event loop only.
 */
final class RdmaReadTimeout implements Runnable {

    /** Checks per time limit, which is exceeded by at most a quarter. */
    static final int LOOKS = 4;

    private final EventExecutor loop;
    private final IntSupplier limitMillis;
    private final Consumer<IOException> stalled;
    private final QueuePair queuePair;
    private final SendQueuePoster sends;
    private Future<?> timer;
    private long position;
    private int looks;

    /**
     * @param loop of the connection
     * @param limitMillis supplies the limit; 0 for none
     * @param stalled ends the connection
     */
    RdmaReadTimeout(
            EventExecutor loop,
            IntSupplier limitMillis,
            QueuePair queuePair,
            SendQueuePoster sends,
            Consumer<IOException> stalled) {
        this.loop = loop;
        this.limitMillis = limitMillis;
        this.stalled = stalled;
        this.queuePair = queuePair;
        this.sends = sends;
    }

    /** Reads are in flight: starts the timer. */
    void begin() {
        int limit = limitMillis.getAsInt();
        if (timer == null && limit > 0) {
            long nanos = TimeUnit.MILLISECONDS.toNanos(limit) / LOOKS;
            timer = loop.schedule(this, nanos, TimeUnit.NANOSECONDS);
        }
    }

    /** The queue pair was destroyed. */
    void end() {
        if (timer != null) {
            timer.cancel(false);
            timer = null;
        }
    }

    @Override
    public void run() {
        timer = null;
        look();
    }

    void look() {
        if (!sends.hasReads()) {
            looks = 0;
            return;
        }
        countLook();
        if (looks > LOOKS) {
            stalled.accept(noAnswer());
        } else {
            begin();
        }
    }

    /** Counts looks at the oldest Read without progress. Work posted before the Read must complete first. */
    private void countLook() {
        long now = sends.oldest() + queuePair.readBytes();
        if (now != position || !sends.isReadOldest()) {
            position = now;
            looks = 0;
        }
        looks++;
    }

    private IOException noAnswer() {
        return new IOException(
                "The peer has answered nothing to an RDMA Read for "
                        + limitMillis.getAsInt()
                        + " ms (READ_TIMEOUT_MILLIS)");
    }
}
