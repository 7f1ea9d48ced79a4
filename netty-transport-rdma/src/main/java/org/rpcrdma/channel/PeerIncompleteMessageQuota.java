// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.net.InetAddress;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicLong;
import org.rpcrdma.verbs.DirectMemoryBudget;

/**
 * Quota of memory for data that peers of one address have announced but not delivered, over all channels of the JVM:
 * many connections get no more than one. It shrinks with what other addresses have taken, so that some memory stays
 * free though several addresses take all that they get: a dynamic threshold, as switches have for the queues of a
 * shared buffer. The first message of an address is not refused, whatever its length: many addresses with one message
 * each are not bounded here. Thread-safe.
 */
final class PeerIncompleteMessageQuota {

    private static final ConcurrentMap<InetAddress, PeerIncompleteMessageQuota> SHARES =
            new ConcurrentHashMap<>();

    /** Bytes of all addresses. */
    private static final AtomicLong TOTAL = new AtomicLong();

    private final InetAddress address;
    private final AtomicLong bytes = new AtomicLong();

    /** Guarded by the map's compute methods. */
    private int users;

    private PeerIncompleteMessageQuota(InetAddress address) {
        this.address = address;
    }

    /** Returns the quota of an address, valid until {@link #leave}. */
    static PeerIncompleteMessageQuota join(InetAddress address) {
        return SHARES.compute(
                address,
                (key, known) -> {
                    PeerIncompleteMessageQuota share =
                            known == null ? new PeerIncompleteMessageQuota(key) : known;
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
            long others = TOTAL.get() - taken;
            long most = others > 0 ? most(limit, others, DirectMemoryBudget.jvm().limit()) : limit;
            if (taken > 0 && taken + count > most) {
                throw new IllegalStateException(
                        address
                                + " has "
                                + taken
                                + " bytes of incomplete messages already (expected: at most "
                                + most
                                + ", INCOMPLETE_BYTES_PER_ADDRESS or less)");
            }
        } while (!bytes.compareAndSet(taken, taken + count));
        TOTAL.addAndGet(count);
    }

    /**
     * The most bytes of one address: its limit, and less as other addresses take their part of five eighths of the
     * memory. The rest stays for what is not counted here: short messages, replies, and free blocks of other sizes.
     *
     * @param others bytes of all other addresses
     * @param memory bytes of registered memory of the JVM
     */
    static long most(long limit, long others, long memory) {
        long shared = memory / 8 * 5;
        if (others <= 0 || shared <= 0) {
            return limit;
        }
        double free = Math.max(0, shared - others) / (double) shared;
        return Math.min(limit, (long) (Math.max(limit, memory / 2) * free));
    }

    void give(long count) {
        bytes.addAndGet(-count);
        TOTAL.addAndGet(-count);
    }

    /** Number of addresses with a quota in use. */
    static int count() {
        return SHARES.size();
    }

    /** Bytes of all addresses. */
    static long total() {
        return TOTAL.get();
    }
}
