// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.Channel;
import io.netty.util.Attribute;
import io.netty.util.AttributeKey;

/**
 * What is remembered of peers from one connection to the next. It lives as long as the bootstrap that makes the
 * channels: a client that has lost its connection comes back to the same listener, and so to the same memory.
 * Any thread.
 */
final class PeerMemory {

    static final AttributeKey<PeerMemory> KEY = AttributeKey.valueOf(PeerMemory.class, "MEMORY");

    private final VersionMemory versions = new VersionMemory(System::nanoTime);
    private final FatalXids fatalXids = new FatalXids(System::nanoTime);
    private final LogLimit closeLog = new LogLimit(System::nanoTime);

    /** That of the channel's bootstrap; without {@link RpcRdmaConfig#applyTo} the channel has one of its own. */
    static PeerMemory of(Channel channel) {
        Attribute<PeerMemory> attribute = channel.attr(KEY);
        if (attribute.get() == null) {
            attribute.setIfAbsent(new PeerMemory());
        }
        return attribute.get();
    }

    /** Whether the channel's bootstrap keeps one. */
    static boolean isKept(Channel channel) {
        return channel.attr(KEY).get() != null;
    }

    /** The responders that do not speak version 2. */
    VersionMemory versions() {
        return versions;
    }

    /** The calls that have ended connections. */
    FatalXids fatalXids() {
        return fatalXids;
    }

    /** For lines about connections that end. */
    LogLimit closeLog() {
        return closeLog;
    }
}
