// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.net.InetAddress;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The calls whose RDMA operations have ended a connection (RFC 8166, 4.5.3), by client address without the port: when
 * the client sends one again on its next connection it gets ERR_CHUNK, and not another dead connection.
 *
 * <p>Small and forgetful: a few XIDs for each of a number of clients, for some minutes. It is shared by all channels of
 * a bootstrap, on whatever event loops; they meet here alone.
 */
final class ResponderFatalXids {

    static final int XIDS_PER_CLIENT = 16;
    static final int CLIENTS = 256;
    static final long LIFETIME_NANOS = TimeUnit.MINUTES.toNanos(5);

    private final LongSupplier clock;

    /** The least recently added client goes first. */
    private final Map<InetAddress, Client> clients =
            new LinkedHashMap<>() {
                @Override
                protected boolean removeEldestEntry(Map.Entry<InetAddress, Client> eldest) {
                    return size() > CLIENTS;
                }
            };

    /** Nearly always true: then no call waits for the lock. */
    private volatile boolean isEmpty = true;

    ResponderFatalXids(LongSupplier clock) {
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
            isEmpty = false;
        }
    }

    boolean contains(InetAddress address, int xid) {
        if (isEmpty) {
            return false;
        }
        synchronized (clients) {
            long now = clock.getAsLong();
            clients.values().removeIf(client -> client.isOver(now));
            isEmpty = clients.isEmpty();
            Client client = clients.get(address);
            return client != null && client.contains(xid, now);
        }
    }

    /** The newest XIDs of one client, in a ring. */
    private static final class Client {
        private final int[] xids = new int[XIDS_PER_CLIENT];
        private final long[] added = new long[XIDS_PER_CLIENT];
        private int count;
        private long newest;

        void add(int xid, long now) {
            int slot = count++ % XIDS_PER_CLIENT;
            xids[slot] = xid;
            added[slot] = now;
            newest = now;
        }

        boolean isOver(long now) {
            return now - newest > LIFETIME_NANOS;
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
