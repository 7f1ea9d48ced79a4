// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.net.InetAddress;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Quota of memory for data that peers of one address have announced but not delivered, over all channels of the JVM:
 * many connections get no more than one. Thread-safe.
 */
final class PeerAddressMemoryQuota {

    private static final ConcurrentMap<InetAddress, PeerAddressMemoryQuota> SHARES =
            new ConcurrentHashMap<>();

    private final InetAddress address;
    private final AtomicLong bytes = new AtomicLong();

    /** Guarded by the map's compute methods. */
    private int users;

    private PeerAddressMemoryQuota(InetAddress address) {
        this.address = address;
    }

    /** Returns the quota of an address, valid until {@link #leave}. */
    static PeerAddressMemoryQuota join(InetAddress address) {
        return SHARES.compute(
                address,
                (key, known) -> {
                    PeerAddressMemoryQuota share =
                            known == null ? new PeerAddressMemoryQuota(key) : known;
                    share.users++;
                    return share;
                });
    }

    /** Ends one {@link #join}, whose user has given back all bytes. */
    void leave() {
        SHARES.computeIfPresent(address, (key, known) -> --known.users == 0 ? null : known);
    }

    /**
     * Takes bytes. A single user always succeeds, because no other could give back bytes.
     *
     * @throws IllegalStateException when the limit of the address is exceeded
     */
    void take(int count, long limit) {
        long taken;
        do {
            taken = bytes.get();
            if (taken > 0 && taken + count > limit) {
                throw new IllegalStateException(
                        address
                                + " has "
                                + taken
                                + " bytes of incomplete messages already (expected: at most "
                                + limit
                                + ", INCOMPLETE_BYTES_PER_ADDRESS)");
            }
        } while (!bytes.compareAndSet(taken, taken + count));
    }

    void give(long count) {
        bytes.addAndGet(-count);
    }

    /** Number of addresses with a quota in use. */
    static int count() {
        return SHARES.size();
    }
}
