// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class AdaptivePollingTest {

    private static final long APART = 10_000;

    private long now;

    private AdaptivePolling polling(PollerLimit limit) {
        return new AdaptivePolling(new AdaptivePollWindow(now), limit);
    }

    /** Has the window open: an event comes soon after the loop has blocked. */
    private AdaptivePolling open(PollerLimit limit) {
        AdaptivePolling polling = polling(limit);
        assertThat(polling.tryPoll(now, now)).isFalse();
        now += APART;
        polling.workFound(now);
        return polling;
    }

    @Test
    void noMoreLoopsPollAtOnceThanTheLimitSays() {
        PollerLimit limit = new PollerLimit(8);
        AdaptivePolling[] loops = new AdaptivePolling[5];
        for (int i = 0; i < loops.length; i++) {
            loops[i] = open(limit);
        }
        for (int i = 0; i < 4; i++) {
            assertThat(loops[i].tryPoll(now, now)).isTrue();
            assertThat(loops[i].tryPoll(now, now + 1)).isTrue();
        }
        assertThat(loops[4].tryPoll(now, now)).isFalse();
        loops[4].workFound(now);
        loops[0].workFound(now);
        assertThat(loops[4].tryPoll(now, now)).isTrue();
    }

    @Test
    void whoBlocksOrFailsLeavesItsPlaceOnce() {
        PollerLimit limit = new PollerLimit(2);
        AdaptivePolling one = open(limit);
        assertThat(one.tryPoll(now, now)).isTrue();
        assertThat(one.tryPoll(now, now + AdaptivePollWindow.MAX_NANOS)).isFalse();
        one.stop();
        one.workFound(now + AdaptivePollWindow.WORTH_A_TRIAL_NANOS);
        assertThat(limit.tryEnter()).isTrue();
        assertThat(limit.tryEnter()).isTrue();
        assertThat(limit.tryEnter()).isFalse();
    }

    @Test
    void twoPollOnTwoCpusAndNobodyOnOne() {
        PollerLimit limit = new PollerLimit(3);
        assertThat(limit.tryEnter()).isTrue();
        assertThat(limit.tryEnter()).isTrue();
        assertThat(limit.tryEnter()).isFalse();
        PollerLimit single = new PollerLimit(1);
        AdaptivePolling polling = open(single);
        assertThat(polling.tryPoll(now, now)).isFalse();
    }
}
