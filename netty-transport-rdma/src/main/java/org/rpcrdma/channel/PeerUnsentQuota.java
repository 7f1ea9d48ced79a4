// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.net.InetAddress;
import java.util.concurrent.atomic.AtomicLong;
import org.rpcrdma.verbs.DirectMemoryBudget;

/**
 * Memory of messages that peers of one address do not take, over all channels of the JVM. An address may have a quarter
 * of what all of them leave of half the registered memory: a dynamic threshold, as switches have for the queues of a
 * shared buffer. One address alone gets a tenth of the memory, and any number of them less than half. Thread-safe.
 */
final class PeerUnsentQuota {

    private static final SharesByAddress<PeerUnsentQuota> SHARES =
            new SharesByAddress<>(PeerUnsentQuota::new);

    /** Bytes of all addresses. */
    private static final AtomicLong TOTAL = new AtomicLong();

    private final InetAddress address;
    private final AtomicLong bytes = new AtomicLong();

    private PeerUnsentQuota(InetAddress address) {
        this.address = address;
    }

    /** Returns the quota of an address, valid until {@link #leave}. */
    static PeerUnsentQuota join(InetAddress address) {
        return SHARES.join(address);
    }

    /** Ends one {@link #join}, whose user has taken back all that it added. */
    void leave() {
        SHARES.leave(address);
    }

    /** @param count of bytes, below zero when some are sent */
    void add(long count) {
        bytes.addAndGet(count);
        TOTAL.addAndGet(count);
    }

    /** Whether the address has more than its threshold. */
    boolean isExceeded() {
        return bytes.get() > most(TOTAL.get(), DirectMemoryBudget.jvm().limit());
    }

    /**
     * The threshold of one address.
     *
     * @param total bytes of all addresses
     * @param memory bytes of registered memory of the JVM
     */
    static long most(long total, long memory) {
        return Math.max(0, memory / 2 - total) / 4;
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
