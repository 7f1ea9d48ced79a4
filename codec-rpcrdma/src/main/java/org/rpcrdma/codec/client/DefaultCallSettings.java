// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import java.util.concurrent.TimeUnit;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaMetrics;
import org.rpcrdma.codec.rpc.CallOptions;

/** Default options of the calls of one requester. */
record DefaultCallSettings(
        RpcRdmaConfig config,
        RpcRdmaMetrics metrics,
        RequesterClockAndTimers clock,
        long callTimeoutMillis,
        int maxRetransmissions,
        long maxReplyBytes,
        boolean fencesCancelled) {

    long timeoutMillis(CallOptions options) {
        return options.timeout().isZero() ? callTimeoutMillis : options.timeout().toMillis();
    }

    /** Deadline of a call that begins now. */
    long deadline(CallOptions options) {
        return clock.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis(options));
    }
}
