// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class AdaptiveStreamReceiveBufferSizeTest {

    private static final int FIRST = AdaptiveStreamReceiveBufferSize.FIRST;

    private static void fill(AdaptiveStreamReceiveBufferSize size, int length, int messages) {
        for (int i = 0; i < messages; i++) {
            size.message();
        }
        size.filled(length);
    }

    @Test
    void aFewMessagesToABufferMakeTheNextOneLargerUntilTheLimit() {
        AdaptiveStreamReceiveBufferSize size = new AdaptiveStreamReceiveBufferSize(3 * FIRST);
        assertThat(size.next()).isEqualTo(FIRST);
        fill(size, FIRST, AdaptiveStreamReceiveBufferSize.FEW_MESSAGES);
        assertThat(size.next()).isEqualTo(2 * FIRST);
        fill(size, 2 * FIRST, 1);
        assertThat(size.next()).isEqualTo(3 * FIRST);
        fill(size, 3 * FIRST, 1);
        assertThat(size.next()).isEqualTo(3 * FIRST);
    }

    /** Two buffers are published at a time. */
    @Test
    void aBufferFromBeforeTheLastChangeSaysNothing() {
        AdaptiveStreamReceiveBufferSize size = new AdaptiveStreamReceiveBufferSize(4 * FIRST);
        fill(size, FIRST, 1);
        fill(size, FIRST, 1);
        assertThat(size.next()).isEqualTo(2 * FIRST);
    }

    @Test
    void manyMessagesMakeItSmallerAgainAndNeverLessThanTheFirst() {
        AdaptiveStreamReceiveBufferSize size = new AdaptiveStreamReceiveBufferSize(4 * FIRST);
        fill(size, FIRST, 1);
        fill(size, 2 * FIRST, AdaptiveStreamReceiveBufferSize.FEW_MESSAGES + 1);
        assertThat(size.next()).isEqualTo(2 * FIRST);
        fill(size, 2 * FIRST, AdaptiveStreamReceiveBufferSize.MANY_MESSAGES);
        assertThat(size.next()).isEqualTo(FIRST);
        fill(size, FIRST, AdaptiveStreamReceiveBufferSize.MANY_MESSAGES);
        assertThat(size.next()).isEqualTo(FIRST);
    }

    /** It is for speed alone: a stream does not end for the want of it. */
    @Test
    void whereThereIsNoMemoryForALargeOneASmallOneWillDo() {
        AdaptiveStreamReceiveBufferSize size = new AdaptiveStreamReceiveBufferSize(4 * FIRST);
        fill(size, FIRST, 1);
        fill(size, 2 * FIRST, 1);
        assertThat(size.isLeast()).isFalse();
        size.shrink();
        assertThat(size.next()).isEqualTo(FIRST);
        assertThat(size.isLeast()).isTrue();
        assertThat(size.next()).isEqualTo(FIRST);
    }

    @Test
    void aSmallLimitIsTheSizeFromTheFirst() {
        AdaptiveStreamReceiveBufferSize size = new AdaptiveStreamReceiveBufferSize(1000);
        assertThat(size.next()).isEqualTo(1000);
        fill(size, 1000, 1);
        assertThat(size.next()).isEqualTo(1000);
        fill(size, 1000, AdaptiveStreamReceiveBufferSize.MANY_MESSAGES);
        assertThat(size.next()).isEqualTo(1000);
    }
}
