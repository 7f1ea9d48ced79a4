// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.net.InetAddress;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Calls whose RDMA operations have ended a connection (RFC 8166, 4.5.3), by client address without the port: a
 * retransmission on the next connection is answered with ERR_CHUNK, so that it does not end that connection too.
 *
 * <p>Bounded: a few XIDs of a limited number of clients, which expire after minutes. Thread-safe: shared by all
 * channels of a bootstrap on any event loops.
 */
final class FatalCallXidCache {

    static final int XIDS_PER_CLIENT = 16;
    static final int CLIENTS = 256;
    static final long LIFETIME_NANOS = TimeUnit.MINUTES.toNanos(5);

    private final LongSupplier clock;

    /** The least recently added client is evicted first. */
    private final Map<InetAddress, Client> clients =
            new LinkedHashMap<>() {
                @Override
                protected boolean removeEldestEntry(Map.Entry<InetAddress, Client> eldest) {
                    return size() > CLIENTS;
                }
            };

    /** Whether there was ever one: nearly always false, which spares calls the lock. */
    private volatile boolean isUsed;

    FatalCallXidCache(LongSupplier clock) {
        this.clock = clock;
    }

    void add(InetAddress address, int xid) {
        synchronized (clients) {
            Client client = clients.remove(address);
            if (client == null) {
                client = new Client();
            }
            clients.put(address, client);
            client.add(xid, clock.getAsLong());
            isUsed = true;
        }
    }

    boolean contains(InetAddress address, int xid) {
        if (!isUsed) {
            return false;
        }
        synchronized (clients) {
            Client client = clients.get(address);
            return client != null && client.contains(xid, clock.getAsLong());
        }
    }

    /** The newest XIDs of one client, in a ring. */
    private static final class Client {
        private final int[] xids = new int[XIDS_PER_CLIENT];
        private final long[] added = new long[XIDS_PER_CLIENT];
        private int count;

        void add(int xid, long now) {
            int slot = count++ % XIDS_PER_CLIENT;
            xids[slot] = xid;
            added[slot] = now;
        }

        boolean contains(int xid, long now) {
            for (int i = Math.min(count, XIDS_PER_CLIENT) - 1; i >= 0; i--) {
                if (xids[i] == xid && now - added[i] <= LIFETIME_NANOS) {
                    return true;
                }
            }
            return false;
        }
    }
}
