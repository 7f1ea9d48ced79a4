// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import java.time.Duration;
import org.rpcrdma.codec.RpcRdmaCancel;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaMetrics;
import org.rpcrdma.codec.internal.ArgumentChecks;

/** Base class of the builders of requesters: the options of calls in either direction. */
abstract class DefaultCallOptionsBuilder<B extends DefaultCallOptionsBuilder<B>> {

    private Duration callTimeout = Duration.ofMinutes(1);
    private int maxRetransmissions = Integer.MAX_VALUE;
    private int maxReplyBytes = Integer.MAX_VALUE;
    private boolean fencesCancelled;
    private RequesterClockAndTimers clock = RequesterClockAndTimers.SYSTEM;

    DefaultCallOptionsBuilder() {}

    abstract B self();

    /**
     * Time-out of a call, including connection establishment and retransmissions; default 60 seconds.
     *
     * @param timeout 1 ms to 2^31 - 1 ms; fractions of a millisecond are cut off
     */
    public B callTimeout(Duration timeout) {
        callTimeout = Duration.ofMillis(ArgumentChecks.millis("callTimeout", timeout));
        return self();
    }

    /**
     * The most lost connections and failed connection attempts that a call survives, from 0. Default: any number until
     * its time-out. Connections that the client has closed because the responder was silent do not count.
     */
    public B maxRetransmissions(int count) {
        maxRetransmissions =
                ArgumentChecks.inRange("maxRetransmissions", count, 0, Integer.MAX_VALUE);
        return self();
    }

    /**
     * The most bytes that a repeated call offers for its reply after ERR_CHUNK; default: the limits of messages and
     * chunks in the configuration.
     */
    public B maxReplyBytes(int bytes) {
        maxReplyBytes = ArgumentChecks.inRange("maxReplyBytes", bytes, 1, Integer.MAX_VALUE);
        return self();
    }

    /**
     * Whether to invalidate the memory of a call at once when it is cancelled or times out; default {@code false}. If
     * the responder still uses the memory, the connection ends ({@link RpcRdmaCancel}).
     */
    public B fenceCancelled(boolean fences) {
        fencesCancelled = fences;
        return self();
    }

    /** Sets the clock, for tests without real delays. */
    final B clock(RequesterClockAndTimers handedIn) {
        clock = handedIn;
        return self();
    }

    final DefaultCallSettings callSettings(RpcRdmaConfig config, RpcRdmaMetrics metrics) {
        return new DefaultCallSettings(
                config,
                metrics,
                clock,
                callTimeout.toMillis(),
                maxRetransmissions,
                maxReplyBytes,
                fencesCancelled);
    }
}
