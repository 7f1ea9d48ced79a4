// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.Channel;
import io.netty.util.Attribute;
import io.netty.util.AttributeKey;
import org.rpcrdma.codec.internal.LogRateLimiter;

/**
 * Facts about peers that all channels of one bootstrap share and that outlive a connection: versions and fatal calls. A
 * client that reconnects reaches the same listener, and so the same state. Any thread.
 */
final class CrossConnectionPeerState {

    static final AttributeKey<CrossConnectionPeerState> KEY =
            AttributeKey.valueOf(CrossConnectionPeerState.class, "MEMORY");

    private final VersionOneResponderCache versions =
            new VersionOneResponderCache(System::nanoTime);
    private final FatalCallXidCache fatalXids = new FatalCallXidCache(System::nanoTime);
    private final LogRateLimiter closeLog = new LogRateLimiter(System::nanoTime);

    /** Returns that of the channel's bootstrap; without {@link RpcRdmaConfig#applyTo} each channel has its own. */
    static CrossConnectionPeerState of(Channel channel) {
        Attribute<CrossConnectionPeerState> attribute = channel.attr(KEY);
        if (attribute.get() == null) {
            attribute.setIfAbsent(new CrossConnectionPeerState());
        }
        return attribute.get();
    }

    /** Whether the channel's bootstrap keeps one. */
    static boolean isKept(Channel channel) {
        return channel.attr(KEY).get() != null;
    }

    /** The responders that do not speak version 2. */
    VersionOneResponderCache versions() {
        return versions;
    }

    /** The calls that have ended connections. */
    FatalCallXidCache fatalXids() {
        return fatalXids;
    }

    /** Rate limiter of log lines about closed connections. */
    LogRateLimiter closeLog() {
        return closeLog;
    }
}
