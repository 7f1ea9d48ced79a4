// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

/**
 * Wakes a peer that has missed the first message. soft-iWARP of Linux 6.1 sends its MPA Reply before it listens to its
 * socket: an FPDU that arrives in between is read when another one comes, and not before. So an initiator that has sent
 * something and heard nothing sends a zero-length RDMA Write, which touches no memory (RFC 5040, 5.2.1).
 */
final class ZeroLengthWritePeerWakeup implements DeadlineTask {

    private static final int TIMES = 3;

    private final DeadlineTaskQueue timers;
    private final Runnable write;
    private long delay;
    private long deadline;
    private int left = TIMES;

    ZeroLengthWritePeerWakeup(DeadlineTaskQueue timers, Runnable write, long nanos) {
        this.timers = timers;
        this.write = write;
        this.delay = nanos;
        start();
    }

    private void start() {
        deadline = timers.nanoTime() + delay;
        timers.add(this);
    }

    /** The peer has answered, or the stream has ended. */
    void stop() {
        timers.remove(this);
    }

    @Override
    public long deadline() {
        return deadline;
    }

    @Override
    public void expired() {
        left--;
        if (left > 0) {
            delay *= 2;
            start();
        }
        write.run();
    }
}
