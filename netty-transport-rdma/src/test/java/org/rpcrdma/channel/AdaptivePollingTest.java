// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class AdaptivePollingTest {

    private static final long APART = 10_000;

    private long now;

    private AdaptivePolling polling(PollingEventLoopLimit limit) {
        return new AdaptivePolling(new AdaptivePollWindow(now), limit);
    }

    /** Has the window open: an event comes soon after the loop has blocked. */
    private AdaptivePolling open(PollingEventLoopLimit limit) {
        AdaptivePolling polling = polling(limit);
        assertThat(polling.tryPoll(now, now)).isFalse();
        now += APART;
        polling.workFound(now);
        return polling;
    }

    @Test
    void noMoreLoopsPollAtOnceThanTheLimitSays() {
        PollingEventLoopLimit limit = new PollingEventLoopLimit(8);
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
        PollingEventLoopLimit limit = new PollingEventLoopLimit(2);
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
    void aLoopPollsUntilItBlocks() {
        AdaptivePolling polling = open(new PollingEventLoopLimit(8));
        assertThat(polling.isPolling()).isFalse();
        assertThat(polling.tryPoll(now, now)).isTrue();
        assertThat(polling.isPolling()).isTrue();
        polling.workFound(now);
        assertThat(polling.isPolling()).isTrue();
        assertThat(polling.tryPoll(now, now)).isTrue();
        assertThat(polling.tryPoll(now, now + AdaptivePollWindow.MAX_NANOS)).isFalse();
        assertThat(polling.isPolling()).isFalse();
        polling.workFound(now + AdaptivePollWindow.WORTH_A_TRIAL_NANOS);
        assertThat(polling.isPolling()).isFalse();
    }

    @Test
    void aLoopThatTheLimitKeepsFromPollingBlocks() {
        PollingEventLoopLimit limit = new PollingEventLoopLimit(2);
        AdaptivePolling polling = open(limit);
        assertThat(polling.tryPoll(now, now)).isTrue();
        polling.workFound(now);
        assertThat(limit.tryEnter()).isTrue();
        assertThat(limit.tryEnter()).isTrue();
        assertThat(polling.tryPoll(now, now)).isFalse();
        assertThat(polling.isPolling()).isFalse();
    }

    @Test
    void twoPollOnTwoCpusAndNobodyOnOne() {
        PollingEventLoopLimit limit = new PollingEventLoopLimit(3);
        assertThat(limit.tryEnter()).isTrue();
        assertThat(limit.tryEnter()).isTrue();
        assertThat(limit.tryEnter()).isFalse();
        PollingEventLoopLimit single = new PollingEventLoopLimit(1);
        AdaptivePolling polling = open(single);
        assertThat(polling.tryPoll(now, now)).isFalse();
    }
}
