// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.net.InetAddress;
import java.util.concurrent.atomic.AtomicLong;
import org.rpcrdma.verbs.DirectMemoryBudget;

/**
 * Quota of memory for data that peers of one address have announced but not delivered, over all channels of the JVM:
 * many connections get no more than one. It shrinks with what other addresses have taken, so that some memory stays
 * free though several addresses take all that they get: a dynamic threshold, as switches have for the queues of a
 * shared buffer.
 *
 * <p>Below that threshold all addresses together get five eighths of the memory. An address that has nothing gets its
 * first message up to three quarters, whatever its length, and any address a little up to seven eighths, so that many
 * addresses with one long message each leave room for short ones. The last eighth stays for what is not counted: short
 * messages and replies. An address is refused nothing for the sake of others while there are none; a refused one has to
 * ask again, because nobody tells it what other addresses give back. Thread-safe.
 */
final class PeerIncompleteMessageQuota {

    private static final SharesByAddress<PeerIncompleteMessageQuota> SHARES =
            new SharesByAddress<>(PeerIncompleteMessageQuota::new);

    /** Bytes of all addresses. */
    private static final AtomicLong TOTAL = new AtomicLong();

    private final InetAddress address;
    private final AtomicLong bytes = new AtomicLong();

    private PeerIncompleteMessageQuota(InetAddress address) {
        this.address = address;
    }

    /** Returns the quota of an address, valid until {@link #leave}. */
    static PeerIncompleteMessageQuota join(InetAddress address) {
        return SHARES.join(address);
    }

    /** Ends one {@link #join}, whose user has given back all bytes. */
    void leave() {
        SHARES.leave(address);
    }

    /**
     * Takes bytes.
     *
     * @throws IllegalStateException when the quota of the address, or of all of them, is exceeded; nothing is taken
     */
    void take(int count, long limit) {
        long taken;
        do {
            taken = bytes.get();
            long others = TOTAL.get() - taken;
            long memory = others > 0 ? DirectMemoryBudget.jvm().limit() : 0;
            if (!isGranted(taken, count, others, limit, memory)) {
                throw refusal(taken, others, limit, memory);
            }
        } while (!bytes.compareAndSet(taken, taken + count));
        // Others may have taken the same room meanwhile: those of other addresses have another
        // counter.
        long all = TOTAL.addAndGet(count);
        long others = all - bytes.get();
        if (others > 0) {
            long memory = DirectMemoryBudget.jvm().limit();
            if (all > ceiling(taken + count, limit, memory)) {
                give(count);
                throw refusal(taken, others, limit, memory);
            }
        }
    }

    private IllegalStateException refusal(long taken, long others, long limit, long memory) {
        return new IllegalStateException(
                address
                        + " has "
                        + taken
                        + " bytes of incomplete messages already (expected: at most "
                        + most(limit, others, memory)
                        + ", INCOMPLETE_BYTES_PER_ADDRESS or less), and other addresses have "
                        + Math.max(0, others));
    }

    /**
     * Whether an address may take bytes.
     *
     * @param taken bytes that it has
     * @param others bytes of all other addresses
     * @param memory bytes of registered memory of the JVM
     */
    static boolean isGranted(long taken, int count, long others, long limit, long memory) {
        long wanted = taken + count;
        if (others > 0 && memory > 0 && (taken == 0 || wanted <= least(limit, memory))) {
            return others + wanted <= ceiling(wanted, limit, memory);
        }
        // Alone, the first message is not refused: nothing that others give back would help it.
        return taken == 0 || wanted <= most(limit, others, memory);
    }

    /** The most bytes of all addresses, when one takes bytes for which its own threshold may be too low. */
    private static long ceiling(long wanted, long limit, long memory) {
        return memory / 8 * (wanted <= least(limit, memory) ? 7 : 6);
    }

    /** The bytes of an address that the threshold does not cut. */
    private static long least(long limit, long memory) {
        return Math.min(limit, memory / 1024);
    }

    /**
     * The threshold of one address: its limit, and less as other addresses take their part of five eighths of the
     * memory.
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
        // In this order, and the other way round when bytes are taken: those of this address are
        // never counted as those of others.
        TOTAL.addAndGet(-count);
        bytes.addAndGet(-count);
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
