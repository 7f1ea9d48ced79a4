// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.verify;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.rpcrdma.verbs.EventLoopVerbsContext;

/** Messages of 64 bytes between two ends, there and back, by one thread: what they take in time and in memory. */
public final class PingPong {

    private static final int SMALL = 64;
    private static final int WARM_UP = 500;
    private static final int TRIES = 3;
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(30);
    private static final long NAP_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Ends ends;
    private final End near;
    private final End far;

    /** Whether the thread sleeps until the device wakes it, or looks again and again. */
    private final boolean waits;

    private final Histogram nanos = new Histogram(TimeUnit.SECONDS.toNanos(60), 3);
    private int nearDone;
    private int farDone;
    private double allocated = -1;

    PingPong(Ends ends, End near, End far, boolean waits) {
        this.ends = ends;
        this.near = near;
        this.far = far;
        this.waits = waits;
    }

    /** Runs for about so long. */
    PingPong run(long duration) throws IOException {
        near.countOnly(true);
        far.countOnly(true);
        nearDone = near.completed;
        farDone = far.completed;
        for (int i = 0; i < WARM_UP; i++) {
            round();
        }
        allocated = allocatedByRound();
        nanos.reset();
        long start = System.nanoTime();
        while (System.nanoTime() - start < duration) {
            round();
        }
        near.countOnly(false);
        far.countOnly(false);
        return this;
    }

    /** What comes once, in the JVM itself, is in no more than one of some tries. */
    private double allocatedByRound() throws IOException {
        double least = Double.MAX_VALUE;
        for (int attempt = 0; attempt < TRIES; attempt++) {
            long before = allocatedBytes();
            for (int i = 0; i < WARM_UP; i++) {
                round();
            }
            least = Math.min(least, (double) (allocatedBytes() - before) / WARM_UP);
            if (before < 0) {
                return -1;
            }
        }
        return least;
    }

    /** Bytes that this thread has taken from the heap so far; -1 where the JVM does not say. */
    private static long allocatedBytes() {
        return ManagementFactory.getThreadMXBean() instanceof ThreadMXBean threads
                        && threads.isThreadAllocatedMemorySupported()
                ? threads.getCurrentThreadAllocatedBytes()
                : -1;
    }

    private void round() throws IOException {
        far.receive(1, 0, SMALL);
        near.receive(1, 0, SMALL);
        ends.far.poll(1);
        ends.near.poll(1);
        long sent = System.nanoTime();
        near.send(2, SMALL, SMALL);
        // What a Send has completed may come before or after what is received.
        await(ends.far, farDone + 1, near, nearDone);
        far.send(2, SMALL, SMALL);
        nearDone += 2;
        farDone += 2;
        await(ends.near, nearDone, far, farDone);
        nanos.recordValue(System.nanoTime() - sent);
        if (near.hasFailed() || far.hasFailed()) {
            throw new IllegalStateException("a work request of a ping-pong has failed");
        }
    }

    /** Until both have completed so many; the context of one of them is slept on. */
    private void await(EventLoopVerbsContext context, int first, End other, int second)
            throws IOException {
        End end = context == ends.far ? far : near;
        long start = 0;
        while (end.completed - first < 0 || other.completed - second < 0) {
            if (ends.near.poll(64) + ends.far.poll(64) > 0) {
                start = 0;
                continue;
            }
            if (waits && end.completed - first < 0) {
                context.await(NAP_NANOS);
            }
            start = start == 0 ? System.nanoTime() : start;
            if (System.nanoTime() - start > PATIENCE_NANOS) {
                throw new IllegalStateException("a message of a ping-pong did not come");
            }
        }
    }

    /** Of each round trip. */
    public Histogram nanos() {
        return nanos;
    }

    /** Bytes of the heap that a round trip has taken, the mean; -1 where the JVM does not say. */
    public double allocated() {
        return allocated;
    }
}
