// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.verify;

import static org.rpcrdma.verbs.QueuePair.REMOTE_READ;
import static org.rpcrdma.verbs.QueuePair.REMOTE_WRITE;
import static org.rpcrdma.verbs.QueuePair.SIGNALED;

import java.io.IOException;
import java.net.InetAddress;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.verbs.VerbsProvider;

/**
 * How fast a device is between two event loops of one thread, which polls both all the time: an order of magnitude,
 * since neither loop has a processor of its own.
 */
public final class DeviceSpeed implements AutoCloseable {

    private static final int SMALL = 64;
    private static final int LARGE = 1 << 20;
    private static final int WARM_UP = 500;
    private static final long NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Ends ends;
    private final End near;
    private final End far;

    /**
     * Connects.
     *
     * @param address one that belongs to the device
     * @throws IOException when the device cannot be opened
     */
    public DeviceSpeed(VerbsProvider provider, InetAddress address) throws IOException {
        ends = new Ends(provider, address);
        near = ends.connecting(LARGE, ends.listener.localAddress());
        far = ends.accept(LARGE);
        ends.established(near, far);
    }

    /**
     * Round trips of messages of 64 bytes.
     *
     * @param waits whether the thread sleeps until the device wakes it
     * @throws IOException when the device cannot be waited for
     */
    public PingPong pingPong(boolean waits) throws IOException {
        return new PingPong(ends, near, far, waits).run(NANOS);
    }

    /** A poll that finds nothing, in nanoseconds: the mean. */
    public double emptyPoll() {
        long start = System.nanoTime();
        long polls = 0;
        long nanos;
        do {
            for (int i = 0; i < WARM_UP; i++) {
                ends.near.poll(1);
            }
            polls += WARM_UP;
            nanos = System.nanoTime() - start;
        } while (nanos < NANOS / 4);
        return (double) nanos / polls;
    }

    /**
     * What it takes to post a message of 64 bytes, in nanoseconds: the mean. What the device does with it before the
     * call returns is in it.
     *
     * @param together so many go to the device at once
     */
    public double posting(int together) {
        long start = System.nanoTime();
        long nanos = 0;
        long posted = 0;
        for (int round = 0; round < WARM_UP || System.nanoTime() - start < NANOS / 4; round++) {
            for (int i = 0; i < together; i++) {
                far.receive(1, 0, SMALL);
            }
            ends.far.poll(1);
            long before = System.nanoTime();
            for (int i = 0; i < together; i++) {
                near.queuePair.send(2, SIGNALED);
                near.gather(SMALL, SMALL);
            }
            near.queuePair.doorbell();
            if (round >= WARM_UP / 2) {
                nanos += System.nanoTime() - before;
                posted += together;
            }
            for (int i = 0; i < together; i++) {
                ends.until("a message", () -> near.isComplete(2) && far.isComplete(1));
                Checks.requireSuccess(near, 2);
                Checks.requireSuccess(far, 1);
            }
        }
        return (double) nanos / posted;
    }

    /** RDMA Writes of 1 MiB, one after the other: bytes a second. */
    public double writes() {
        return transfers(true);
    }

    /** RDMA Reads of 1 MiB, one after the other: bytes a second. */
    public double reads() {
        return transfers(false);
    }

    private double transfers(boolean isWrite) {
        int key = far.expose(0, LARGE, isWrite ? REMOTE_WRITE : REMOTE_READ);
        long offset = far.queuePair.exposedOffset(key);
        long start = System.nanoTime();
        long bytes = 0;
        do {
            if (isWrite) {
                near.queuePair.write(3, SIGNALED, offset, key);
            } else {
                near.queuePair.read(3, SIGNALED, offset, key);
            }
            near.gather(0, LARGE).queuePair.doorbell();
            ends.until("a transfer", () -> near.isComplete(3));
            Checks.requireSuccess(near, 3);
            bytes += LARGE;
        } while (System.nanoTime() - start < NANOS);
        // That a Write is complete does not say that it has arrived: a message behind it does.
        far.receive(4, 0, SMALL);
        ends.far.poll(1);
        near.send(5, 0, SMALL);
        ends.until("a message", () -> far.isComplete(4));
        double rate = bytes * 1e9 / (System.nanoTime() - start);
        far.queuePair.invalidate(key);
        return rate;
    }

    @Override
    public void close() {
        ends.close();
    }
}
