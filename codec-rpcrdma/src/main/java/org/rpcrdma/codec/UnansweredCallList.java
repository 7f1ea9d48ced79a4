// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * Unanswered calls of one role of one connection, the oldest first, for the gauge of its age. Lists only calls whose
 * start was measured, so that nothing is done while nobody watches. Event loop only.
 */
final class UnansweredCallList {

    private final ConnectionMetrics metrics;
    private final RpcRdmaRole role;
    private UnansweredCallListNode oldest;
    private UnansweredCallListNode newest;

    UnansweredCallList(ConnectionMetrics metrics, RpcRdmaRole role) {
        this.metrics = metrics;
        this.role = role;
    }

    /**
     * Adds a call that is younger than all others.
     *
     * @param start {@link ConnectionMetrics#startTime} of it, not 0
     */
    void add(UnansweredCallListNode call, long start) {
        call.isListed = true;
        call.since = start;
        call.older = newest;
        if (newest == null) {
            oldest = call;
            metrics.oldestCall(role, start);
        } else {
            newest.newer = call;
        }
        newest = call;
    }

    /** Removes a listed call. */
    void remove(UnansweredCallListNode call) {
        if (call.newer == null) {
            newest = call.older;
        } else {
            call.newer.older = call.older;
        }
        if (call.older == null) {
            oldest = call.newer;
            metrics.oldestCall(role, oldest == null ? 0 : oldest.since);
        } else {
            call.older.newer = call.newer;
        }
        call.isListed = false;
        call.older = null;
        call.newer = null;
    }
}
