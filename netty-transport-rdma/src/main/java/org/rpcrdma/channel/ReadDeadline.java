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
 * Ends a connection whose peer does not answer an RDMA Read: its sink keeps memory that others may need. Looks a few
 * times within the limit whether the oldest work is a Read and stands where it stood; a Read costs no look at the
 * clock, and a channel without Reads has no timer. Event loop only.
 */
final class ReadDeadline implements Runnable {

    /** Looks within the limit, after the one that finds where a Read stands: it is exceeded by a quarter at most. */
    static final int LOOKS = 4;

    private final EventExecutor loop;
    private final IntSupplier limitMillis;
    private final Consumer<IOException> stalled;
    private final QueuePair queuePair;
    private final SendPoster sends;
    private Future<?> timer;
    private long position;
    private int looks;

    /**
     * @param loop of the connection
     * @param limitMillis gives the limit; 0 for none
     * @param stalled ends the connection
     */
    ReadDeadline(
            EventExecutor loop,
            IntSupplier limitMillis,
            QueuePair queuePair,
            SendPoster sends,
            Consumer<IOException> stalled) {
        this.loop = loop;
        this.limitMillis = limitMillis;
        this.stalled = stalled;
        this.queuePair = queuePair;
        this.sends = sends;
    }

    /** Reads are under way. */
    void begin() {
        int limit = limitMillis.getAsInt();
        if (timer == null && limit > 0) {
            long nanos = TimeUnit.MILLISECONDS.toNanos(limit) / LOOKS;
            timer = loop.schedule(this, nanos, TimeUnit.NANOSECONDS);
        }
    }

    /** The queue pair is gone. */
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
        } else if (checkProgress()) {
            stalled.accept(noAnswer());
        } else {
            begin();
        }
    }

    /** What is before a Read is on its way out, and has to be out first. */
    private boolean checkProgress() {
        long now = sends.oldest() + queuePair.readBytes();
        if (looks == 0 || now != position || !sends.isReadOldest()) {
            position = now;
            looks = 1;
            return false;
        }
        return ++looks > LOOKS;
    }

    private IOException noAnswer() {
        return new IOException(
                "The peer has answered nothing to an RDMA Read for "
                        + limitMillis.getAsInt()
                        + " ms (READ_TIMEOUT_MILLIS)");
    }
}
