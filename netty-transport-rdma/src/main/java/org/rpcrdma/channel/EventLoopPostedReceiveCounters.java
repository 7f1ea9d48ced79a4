// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

/**
 * Counts the posted receives of all channels of one event loop. Written by the event loop only; other threads may read
 * slightly old values.
 */
final class EventLoopPostedReceiveCounters {

    private long posted;
    private long low;

    /** Adds to the number of posted receives; negative to subtract. */
    void posted(int more) {
        posted += more;
    }

    /** Counts a channel whose posted receives have become few. */
    void fell() {
        low++;
    }

    /** Posted receives, exact to a batch for each channel. Any thread. */
    long posted() {
        return posted;
    }

    /** Number of times that a channel's posted receives became few. Any thread. */
    long low() {
        return low;
    }
}
