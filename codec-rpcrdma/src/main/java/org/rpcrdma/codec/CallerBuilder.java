// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** How calls are treated, whichever direction they go: what builders of callers have in common. */
abstract class CallerBuilder<B extends CallerBuilder<B>> {

    private long callTimeoutMillis = 60_000;
    private int maxRetransmissions = 5;
    private int maxReplyBytes = Integer.MAX_VALUE;
    private boolean fencesCancelled;

    CallerBuilder() {}

    abstract B self();

    /**
     * The longest time from call to reply in milliseconds, from 1, connecting and retransmissions included; default 60
     * seconds.
     */
    public B callTimeoutMillis(long millis) {
        callTimeoutMillis = RpcRdmaConfig.check("callTimeoutMillis", millis, 1, Integer.MAX_VALUE);
        return self();
    }

    /**
     * How many lost connections and failed attempts to connect a call survives, from 0; default 5. The call's time-out
     * counts too.
     */
    public B maxRetransmissions(int count) {
        maxRetransmissions = RpcRdmaConfig.check("maxRetransmissions", count, 0, Integer.MAX_VALUE);
        return self();
    }

    /**
     * No more room than this is offered for a reply after ERR_CHUNK, in bytes; default: what the configuration allows for
     * messages and chunks.
     */
    public B maxReplyBytes(int bytes) {
        maxReplyBytes = RpcRdmaConfig.check("maxReplyBytes", bytes, 1, Integer.MAX_VALUE);
        return self();
    }

    /**
     * Whether the memory of a call that is cancelled, or not answered in time, is taken away from the responder at once;
     * default {@code false}. The connection ends when the responder still uses it ({@link RpcRdmaCancel}).
     */
    public B fenceCancelled(boolean fences) {
        fencesCancelled = fences;
        return self();
    }

    final PendingCalls.Settings callSettings(RpcRdmaConfig config) {
        return new PendingCalls.Settings(
                config, callTimeoutMillis, maxRetransmissions, maxReplyBytes, fencesCancelled);
    }
}
