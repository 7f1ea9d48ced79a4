// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.net.InetAddress;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The memory that is kept for what the peers of one address have begun and not delivered, on all channels of the JVM:
 * whoever opens many connections gets no more of it than with one. Thread-safe.
 */
final class PeerAddressMemoryQuota {

    private static final ConcurrentMap<InetAddress, PeerAddressMemoryQuota> SHARES =
            new ConcurrentHashMap<>();

    private final InetAddress address;
    private final AtomicLong bytes = new AtomicLong();

    /** Changed while the map computes. */
    private int users;

    private PeerAddressMemoryQuota(InetAddress address) {
        this.address = address;
    }

    /** That of an address, until {@link #leave}. */
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

    /** One who has joined holds nothing more and needs it no longer. */
    void leave() {
        SHARES.computeIfPresent(address, (key, known) -> --known.users == 0 ? null : known);
    }

    /**
     * Takes so much. Who is alone gets what he wants: nothing would make room for it.
     *
     * @throws IllegalStateException when that is more than the address may have
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

    /** The addresses that have a share. */
    static int count() {
        return SHARES.size();
    }
}
