// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.Channel;
import io.netty.util.Attribute;
import io.netty.util.AttributeKey;
import org.rpcrdma.codec.internal.LogRateLimiter;

/**
 * Cache of what peers have shown, kept from one connection to the next. It lives as long as the bootstrap that makes
 * the channels: a client that has lost its connection comes back to the same listener, and so to the same memory. Any
 * thread.
 */
final class PeerCache {

    static final AttributeKey<PeerCache> KEY = AttributeKey.valueOf(PeerCache.class, "MEMORY");

    private final PeerVersionCache versions = new PeerVersionCache(System::nanoTime);
    private final ResponderFatalXids fatalXids = new ResponderFatalXids(System::nanoTime);
    private final LogRateLimiter closeLog = new LogRateLimiter(System::nanoTime);

    /** That of the channel's bootstrap; without {@link RpcRdmaConfig#applyTo} the channel has one of its own. */
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
    ResponderFatalXids fatalXids() {
        return fatalXids;
    }

    /** For lines about connections that end. */
    LogRateLimiter closeLog() {
        return closeLog;
    }
}
