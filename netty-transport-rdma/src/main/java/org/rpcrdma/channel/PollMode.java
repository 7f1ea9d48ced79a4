// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

/** How an event loop waits when there is nothing to do. */
public enum PollMode {
    /** Block at once: least CPU time, and a wake-up's latency on each message. */
    BLOCKING,
    /** Poll for a short while after the last work, then block. The default. */
    ADAPTIVE,
    /** Never block: one CPU for each event loop, and the lowest latency. */
    BUSY
}
