// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.Channel;
import io.netty.util.Attribute;
import io.netty.util.AttributeKey;
import org.rpcrdma.codec.internal.LogRateLimiter;

/**
 * Facts about peers that outlive a connection: versions and fatal calls. Belongs to the bootstrap of the channels: a
 * client that reconnects reaches the same listener, and so the same cache. Any thread.
 */
final class PeerCache {

    static final AttributeKey<PeerCache> KEY = AttributeKey.valueOf(PeerCache.class, "MEMORY");

    private final PeerVersionCache versions = new PeerVersionCache(System::nanoTime);
    private final FatalCallXidCache fatalXids =
            new FatalCallXidCache(System::nanoTime);
    private final LogRateLimiter closeLog = new LogRateLimiter(System::nanoTime);

    /** Returns the cache of the channel's bootstrap; without {@link RpcRdmaConfig#applyTo} each channel has its own. */
    static PeerCache of(Channel channel) {
        Attribute<PeerCache> attribute = channel.attr(KEY);
        if (attribute.get() == null) {
            attribute.setIfAbsent(new PeerCache());
        }
        return attribute.get();
    }

    /** Whether the channel's bootstrap keeps one. */
    static boolean isKept(Channel channel) {
        return channel.attr(KEY).get() != null;
    }

    /** The responders that do not speak version 2. */
    PeerVersionCache versions() {
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
