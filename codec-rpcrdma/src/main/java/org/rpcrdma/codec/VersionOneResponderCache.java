// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.net.SocketAddress;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * Responders that do not speak version 2 (draft-cel-nfsv4-rpcrdma-version-two-01, 5.2), as requesters remember them.
 * Entries expire, because a responder may be upgraded. Shared by all channels of a bootstrap on any event loops; locked
 * once for each connection.
 */
final class VersionOneResponderCache {

    static final int RESPONDERS = 256;

    private final LongSupplier clock;

    /** Time of addition by responder; the least recently added entry is evicted first. */
    private final Map<SocketAddress, Long> responders =
            new LinkedHashMap<>() {
                @Override
                protected boolean removeEldestEntry(Map.Entry<SocketAddress, Long> eldest) {
                    return size() > RESPONDERS;
                }
            };

    VersionOneResponderCache(LongSupplier clock) {
        this.clock = clock;
    }

    synchronized void add(SocketAddress responder) {
        responders.remove(responder);
        responders.put(responder, clock.getAsLong());
    }

    /** Whether the responder was added within that time. */
    synchronized boolean contains(SocketAddress responder, long lifetimeNanos) {
        Long added = responders.get(responder);
        return added != null && clock.getAsLong() - added < lifetimeNanos;
    }
}
