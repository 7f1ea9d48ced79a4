// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import java.util.concurrent.TimeUnit;
import org.rpcrdma.codec.RpcRdmaConfig;

/** Default options of the calls of one requester. */
record DefaultCallSettings(
        RpcRdmaConfig config,
        CallClock clock,
        long callTimeoutMillis,
        int maxRetransmissions,
        long maxReplyBytes,
        boolean fencesCancelled) {

    long timeoutMillis(CallOptions options) {
        return options.timeoutMillis() == 0 ? callTimeoutMillis : options.timeoutMillis();
    }

    /** When a call that begins now is late. */
    long deadline(CallOptions options) {
        return clock.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis(options));
    }
}
