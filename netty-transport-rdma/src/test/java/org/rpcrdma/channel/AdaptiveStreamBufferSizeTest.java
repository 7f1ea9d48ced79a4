// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class AdaptiveStreamBufferSizeTest {

    private static final int FIRST = AdaptiveStreamBufferSize.FIRST;

    private static void fill(AdaptiveStreamBufferSize size, int length, int messages) {
        for (int i = 0; i < messages; i++) {
            size.message();
        }
        size.filled(length);
    }

    @Test
    void aFewMessagesToABufferMakeTheNextOneLargerUntilTheLimit() {
        AdaptiveStreamBufferSize size = new AdaptiveStreamBufferSize(3 * FIRST);
        assertThat(size.next()).isEqualTo(FIRST);
        fill(size, FIRST, AdaptiveStreamBufferSize.FEW_MESSAGES);
        assertThat(size.next()).isEqualTo(2 * FIRST);
        fill(size, 2 * FIRST, 1);
        assertThat(size.next()).isEqualTo(3 * FIRST);
        fill(size, 3 * FIRST, 1);
        assertThat(size.next()).isEqualTo(3 * FIRST);
    }

    /** Two buffers are published at a time. */
    @Test
    void aBufferFromBeforeTheLastChangeSaysNothing() {
        AdaptiveStreamBufferSize size = new AdaptiveStreamBufferSize(4 * FIRST);
        fill(size, FIRST, 1);
        fill(size, FIRST, 1);
        assertThat(size.next()).isEqualTo(2 * FIRST);
    }

    @Test
    void manyMessagesMakeItSmallerAgainAndNeverLessThanTheFirst() {
        AdaptiveStreamBufferSize size = new AdaptiveStreamBufferSize(4 * FIRST);
        fill(size, FIRST, 1);
        fill(size, 2 * FIRST, AdaptiveStreamBufferSize.FEW_MESSAGES + 1);
        assertThat(size.next()).isEqualTo(2 * FIRST);
        fill(size, 2 * FIRST, AdaptiveStreamBufferSize.MANY_MESSAGES);
        assertThat(size.next()).isEqualTo(FIRST);
        fill(size, FIRST, AdaptiveStreamBufferSize.MANY_MESSAGES);
        assertThat(size.next()).isEqualTo(FIRST);
    }

    /** It is for speed alone: a stream does not end for the want of it. */
    @Test
    void whereThereIsNoMemoryForALargeOneASmallOneWillDo() {
        AdaptiveStreamBufferSize size = new AdaptiveStreamBufferSize(4 * FIRST);
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
        AdaptiveStreamBufferSize size = new AdaptiveStreamBufferSize(1000);
        assertThat(size.next()).isEqualTo(1000);
        fill(size, 1000, 1);
        assertThat(size.next()).isEqualTo(1000);
        fill(size, 1000, AdaptiveStreamBufferSize.MANY_MESSAGES);
        assertThat(size.next()).isEqualTo(1000);
    }
}
