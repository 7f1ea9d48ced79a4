// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * Tells the metrics when the oldest unanswered call of one role of one connection began, by a list of these calls, the
 * oldest first. Lists only calls whose start was measured, so that nothing is done while nobody watches. Event loop
 * only.
 */
final class OldestUnansweredCallGauge {

    private final ConnectionMetrics metrics;
    private final RpcRdmaRole role;
    private CallListedByAge oldest;
    private CallListedByAge newest;

    OldestUnansweredCallGauge(ConnectionMetrics metrics, RpcRdmaRole role) {
        this.metrics = metrics;
        this.role = role;
    }

    /**
     * Adds a call that is younger than all others.
     *
     * @param start {@link ConnectionMetrics#startTime} of it, not 0
     */
    void add(CallListedByAge call, long start) {
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
    void remove(CallListedByAge call) {
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
