// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

/** The receives of all channels of one event loop. It alone counts; others may see numbers that are a little old. */
final class EventLoopReceiveCounters {

    private long posted;
    private long low;

    /** So many more are posted than were counted before, or less when negative. */
    void posted(int more) {
        posted += more;
    }

    /** Those of a channel have become few. */
    void fell() {
        low++;
    }

    /** Receives that are posted, to a batch for each channel. Any thread. */
    long posted() {
        return posted;
    }

    /** How often those of a channel have become few. Any thread. */
    long low() {
        return low;
    }
}
