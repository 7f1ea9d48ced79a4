// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ReceiveBufferSizeTest {

    private static final int FIRST = ReceiveBufferSize.FIRST;

    private static void fill(ReceiveBufferSize size, int length, int messages) {
        for (int i = 0; i < messages; i++) {
            size.message();
        }
        size.filled(length);
    }

    @Test
    void aFewMessagesToABufferMakeTheNextOneLargerUntilTheLimit() {
        ReceiveBufferSize size = new ReceiveBufferSize(3 * FIRST);
        assertThat(size.next()).isEqualTo(FIRST);
        fill(size, FIRST, ReceiveBufferSize.FEW_MESSAGES);
        assertThat(size.next()).isEqualTo(2 * FIRST);
        fill(size, 2 * FIRST, 1);
        assertThat(size.next()).isEqualTo(3 * FIRST);
        fill(size, 3 * FIRST, 1);
        assertThat(size.next()).isEqualTo(3 * FIRST);
    }

    /** Two buffers are published at a time. */
    @Test
    void aBufferFromBeforeTheLastChangeSaysNothing() {
        ReceiveBufferSize size = new ReceiveBufferSize(4 * FIRST);
        fill(size, FIRST, 1);
        fill(size, FIRST, 1);
        assertThat(size.next()).isEqualTo(2 * FIRST);
    }

    @Test
    void manyMessagesMakeItSmallerAgainAndNeverLessThanTheFirst() {
        ReceiveBufferSize size = new ReceiveBufferSize(4 * FIRST);
        fill(size, FIRST, 1);
        fill(size, 2 * FIRST, ReceiveBufferSize.FEW_MESSAGES + 1);
        assertThat(size.next()).isEqualTo(2 * FIRST);
        fill(size, 2 * FIRST, ReceiveBufferSize.MANY_MESSAGES);
        assertThat(size.next()).isEqualTo(FIRST);
        fill(size, FIRST, ReceiveBufferSize.MANY_MESSAGES);
        assertThat(size.next()).isEqualTo(FIRST);
    }

    /** It is for speed alone: a stream does not end for the want of it. */
    @Test
    void whereThereIsNoMemoryForALargeOneASmallOneWillDo() {
        ReceiveBufferSize size = new ReceiveBufferSize(4 * FIRST);
        fill(size, FIRST, 1);
        fill(size, 2 * FIRST, 1);
        assertThat(size.refused()).isTrue();
        assertThat(size.next()).isEqualTo(FIRST);
        assertThat(size.refused()).isFalse();
        assertThat(size.next()).isEqualTo(FIRST);
    }

    @Test
    void aSmallLimitIsTheSizeFromTheFirst() {
        ReceiveBufferSize size = new ReceiveBufferSize(1000);
        assertThat(size.next()).isEqualTo(1000);
        fill(size, 1000, 1);
        assertThat(size.next()).isEqualTo(1000);
        fill(size, 1000, ReceiveBufferSize.MANY_MESSAGES);
        assertThat(size.next()).isEqualTo(1000);
    }
}
