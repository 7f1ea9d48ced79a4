// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.net.InetAddress;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.junit.jupiter.api.Test;
import org.rpcrdma.concurrency.Interleavings;

/**
 * Found: a compare-and-set of the bytes that is a plain set. Tried and not found in these interleavings: a quota that
 * is removed with its first user.
 */
class PeerIncompleteMessageQuotaTest {

    private static final InetAddress ADDRESS = InetAddress.getLoopbackAddress();
    private static final int LIMIT = 3;

    @Test
    void isLinearizable() {
        Interleavings.checkLinearizability(Quota.class);
    }

    /** The operations of a quota that two of two requests exceed. */
    @Param(name = "bytes", gen = IntGen.class, conf = "1:2")
    public static class Quota {

        private final PeerIncompleteMessageQuota quota = PeerIncompleteMessageQuota.join(ADDRESS);

        @Operation
        public boolean tryTake(@Param(name = "bytes") int bytes) {
            return PeerIncompleteMessageQuotaTest.tryTake(quota, bytes);
        }

        @Operation
        public void give(@Param(name = "bytes") int bytes) {
            quota.give(bytes);
        }
    }

    /** However users come and go, those of one address share one quota. */
    @Test
    void anAddressHasOneQuota() {
        Interleavings.explore(
                () -> {
                    int[] holders = new int[1];
                    Interleavings.inThreads(
                            () -> use(holders),
                            () -> {
                                use(holders);
                                use(holders);
                            });
                    Interleavings.check(PeerIncompleteMessageQuota.count() == 0, "a quota is left");
                });
    }

    private static void use(int[] holders) {
        PeerIncompleteMessageQuota quota = PeerIncompleteMessageQuota.join(ADDRESS);
        if (tryTake(quota, LIMIT - 1)) {
            Interleavings.check(++holders[0] == 1, "more than the limit is taken");
            holders[0]--;
            quota.give(LIMIT - 1);
        }
        quota.leave();
    }

    private static boolean tryTake(PeerIncompleteMessageQuota quota, int bytes) {
        try {
            quota.take(bytes, LIMIT);
            return true;
        } catch (IllegalStateException e) {
            return false;
        }
    }
}
