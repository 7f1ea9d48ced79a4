// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

/** Waiting strategy of an event loop without work. */
public enum PollMode {
    /** Block at once: least CPU time, and a wake-up's latency on each message. */
    BLOCKING,
    /** Poll for a short while after the last work, then block. The default. */
    ADAPTIVE,
    /**
     * Never block: the lowest latency, at the price of a whole CPU for each event loop. It needs a CPU that is free for
     * each loop, beside those that the rest of the program keeps busy: loops that share one wait for each other, up to
     * a slice of the scheduler's for each message. A loop that has had no work for a while offers its CPU at each look
     * ({@link Thread#yield}), so that others get on.
     */
    BUSY
}
