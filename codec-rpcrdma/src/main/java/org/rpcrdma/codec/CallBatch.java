// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * The calls that are written and not flushed yet. A requester that makes its next calls when replies come would have
 * all of them in one batch soon, and then one of the two ends always waits for the other one. With two batches both
 * work at the same time.
 */
final class CallBatch {

    /** A flush costs about as much as so many calls. */
    private static final int LEAST = 8;

    private int size;

    /**
     * Another call is written.
     *
     * @param inFlight all calls that are not answered, this one too
     * @return whether this is half of them, and enough for a flush
     */
    boolean add(int inFlight) {
        size++;
        return size >= LEAST && size >= inFlight / 2;
    }

    void flushed() {
        size = 0;
    }
}
