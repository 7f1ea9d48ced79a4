// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.net.SocketAddress;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * The responders that do not speak version 2 (draft-cel-nfsv4-rpcrdma-version-two-01, 5.2), for some time: they may be
 * replaced by newer ones. It is shared by all channels of a bootstrap, on whatever event loops; they meet here once
 * for each connection.
 */
final class PeerVersionCache {

    static final int RESPONDERS = 256;

    private final LongSupplier clock;

    /** When each was added; the least recently added goes first. */
    private final Map<SocketAddress, Long> responders =
            new LinkedHashMap<>() {
                @Override
                protected boolean removeEldestEntry(Map.Entry<SocketAddress, Long> eldest) {
                    return size() > RESPONDERS;
                }
            };

    PeerVersionCache(LongSupplier clock) {
        this.clock = clock;
    }

    synchronized void add(SocketAddress responder) {
        responders.remove(responder);
        responders.put(responder, clock.getAsLong());
    }

    /** Whether it was added, and not longer ago than that. */
    synchronized boolean contains(SocketAddress responder, long lifetimeNanos) {
        Long added = responders.get(responder);
        if (added != null && clock.getAsLong() - added >= lifetimeNanos) {
            responders.remove(responder);
            added = null;
        }
        return added != null;
    }
}
