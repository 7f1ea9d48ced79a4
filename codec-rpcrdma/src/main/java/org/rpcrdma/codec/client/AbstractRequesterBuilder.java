// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import org.rpcrdma.codec.RpcRdmaCancel;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.internal.ArgumentChecks;

/** Base class of the builders of requesters: the options of calls in either direction. */
abstract class AbstractRequesterBuilder<B extends AbstractRequesterBuilder<B>> {

    private long callTimeoutMillis = 60_000;
    private int maxRetransmissions = Integer.MAX_VALUE;
    private int maxReplyBytes = Integer.MAX_VALUE;
    private boolean fencesCancelled;
    private CallClock clock = CallClock.SYSTEM;

    AbstractRequesterBuilder() {}

    abstract B self();

    /**
     * The longest time from call to reply in milliseconds, from 1, connecting and retransmissions included; default
     * 60 seconds.
     */
    public B callTimeoutMillis(long millis) {
        callTimeoutMillis =
                ArgumentChecks.inRange("callTimeoutMillis", millis, 1, Integer.MAX_VALUE);
        return self();
    }

    /**
     * How many lost connections and failed attempts to connect a call survives, from 0. Default: any number, until its
     * time-out is over. Connections that were closed here, because their responder was silent, do not count.
     */
    public B maxRetransmissions(int count) {
        maxRetransmissions =
                ArgumentChecks.inRange("maxRetransmissions", count, 0, Integer.MAX_VALUE);
        return self();
    }

    /**
     * No more room than this is offered for a reply after ERR_CHUNK, in bytes; default: what the configuration allows
     * for messages and chunks.
     */
    public B maxReplyBytes(int bytes) {
        maxReplyBytes = ArgumentChecks.inRange("maxReplyBytes", bytes, 1, Integer.MAX_VALUE);
        return self();
    }

    /**
     * Whether the memory of a call that is cancelled, or not answered in time, is taken away from the responder at
     * once; default {@code false}. The connection ends when the responder still uses it ({@link RpcRdmaCancel}).
     */
    public B fenceCancelled(boolean fences) {
        fencesCancelled = fences;
        return self();
    }

    /** For tests, which do not wait. */
    final B clock(CallClock handedIn) {
        clock = handedIn;
        return self();
    }

    final DefaultCallSettings callSettings(RpcRdmaConfig config) {
        return new DefaultCallSettings(
                config,
                clock,
                callTimeoutMillis,
                maxRetransmissions,
                maxReplyBytes,
                fencesCancelled);
    }
}
