// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

/** Waiting strategy of an event loop without work. */
public enum PollMode {
    /** Block at once: least CPU time, and a wake-up's latency on each message. */
    BLOCKING,
    /**
     * Poll after each piece of work for up to 50 microseconds, as long as that catches the next one, then block. The
     * default. A loop begins as one that blocks. It stops polling when it keeps waiting in vain, or when it loses its
     * CPU to others meanwhile, and tries again from time to time. At most half of the CPUs, though two where there are
     * two, are polled on by the loops of a process; on a single CPU none is.
     */
    ADAPTIVE,
    /**
     * Never block: the lowest latency, at the price of a whole CPU for each event loop. Each loop needs its own free
     * CPU, besides those of the rest of the program: loops that share a CPU delay each message by up to a scheduler
     * time slice. A loop without work for a while calls {@link Thread#yield} at each poll.
     */
    BUSY
}
