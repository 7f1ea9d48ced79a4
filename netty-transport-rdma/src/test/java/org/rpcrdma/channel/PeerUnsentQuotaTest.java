// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.api.Test;

class PeerUnsentQuotaTest {

    private static final int STEP = ChannelUnsentQuotaShare.STEP;
    private static final InetAddress ADDRESS = new InetSocketAddress("127.0.0.9", 1).getAddress();

    @Property
    void addressesThatTakeAllTheyGetLeaveHalf(
            @ForAll @LongRange(min = 1 << 20, max = 1L << 40) long memory,
            @ForAll @IntRange(min = 1, max = 300) int addresses) {
        long[] taken = new long[addresses];
        long total = 0;
        boolean isTaking = true;
        while (isTaking) {
            isTaking = false;
            for (int i = 0; i < addresses; i++) {
                long more = PeerUnsentQuota.most(total, memory) - taken[i];
                if (more > memory / 1000) {
                    taken[i] += more / 2;
                    total += more / 2;
                    isTaking = true;
                }
            }
        }
        assertThat(total).isBetween(memory / 20, memory / 2);
    }

    @Test
    void shareCountsStepsAndLeavesNothing() {
        ChannelUnsentQuotaShare one = new ChannelUnsentQuotaShare(() -> ADDRESS);
        ChannelUnsentQuotaShare other = new ChannelUnsentQuotaShare(() -> ADDRESS);
        one.set(STEP - 1);
        assertThat(PeerUnsentQuota.count()).isZero();
        one.set(2 * STEP + 1);
        other.set(STEP);
        assertThat(PeerUnsentQuota.count()).isEqualTo(1);
        assertThat(PeerUnsentQuota.total()).isEqualTo(3 * STEP);
        one.set(2 * STEP - 1);
        assertThat(PeerUnsentQuota.total()).isEqualTo(2 * STEP);
        one.end();
        assertThat(PeerUnsentQuota.total()).isEqualTo(STEP);
        assertThat(PeerUnsentQuota.count()).isEqualTo(1);
        other.end();
        other.set(STEP);
        assertThat(PeerUnsentQuota.count()).isZero();
        assertThat(PeerUnsentQuota.total()).isZero();
    }

    /** The bound of the connection is left then. */
    @Test
    void withoutAnAddressNothingIsCounted() {
        ChannelUnsentQuotaShare share = new ChannelUnsentQuotaShare(() -> null);
        share.set(10 * STEP);
        assertThat(share.counted).isZero();
        assertThat(share.isExceeded()).isFalse();
        assertThat(PeerUnsentQuota.total()).isZero();
    }
}
