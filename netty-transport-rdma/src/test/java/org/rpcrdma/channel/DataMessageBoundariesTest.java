// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

class DataMessageBoundariesTest {

    private final DataMessageBoundaries messages = new DataMessageBoundaries();

    @Test
    void aMessageDeliveredInPiecesIsWhollyDeliveredWithItsLastByte() {
        messages.received(10);
        messages.received(5);
        assertThat(messages.isWithinMessage()).isFalse();
        messages.delivered(9);
        assertThat(messages.isWithinMessage()).isTrue();
        messages.delivered(1);
        assertThat(messages.isWithinMessage()).isFalse();
        messages.delivered(1);
        assertThat(messages.isWithinMessage()).isTrue();
        messages.delivered(4);
        assertThat(messages.isWithinMessage()).isFalse();
    }

    @Test
    void messagesBeyondTheMostCountAsOne() {
        for (int i = 0; i < 2 * DataMessageBoundaries.MOST; i++) {
            messages.received(1);
        }
        messages.delivered(DataMessageBoundaries.MOST - 1);
        assertThat(messages.isWithinMessage()).isFalse();
        for (int i = 0; i < DataMessageBoundaries.MOST; i++) {
            messages.delivered(1);
            assertThat(messages.isWithinMessage()).isTrue();
        }
        messages.delivered(1);
        assertThat(messages.isWithinMessage()).isFalse();
    }

    @Property
    void allBytesDeliveredIsTheEndOfAMessage(
            @ForAll @Size(max = 9) List<@Size(max = 40) List<@IntRange(max = 200) Integer>> batches,
            @ForAll @IntRange(min = 1, max = 7) int step) {
        DataMessageBoundaries some = new DataMessageBoundaries();
        for (List<Integer> batch : batches) {
            int sum = 0;
            for (int bytes : batch) {
                some.received(bytes);
                sum += bytes;
            }
            while (sum > 0) {
                int bytes = Math.min(step, sum);
                some.delivered(bytes);
                sum -= bytes;
            }
            assertThat(some.isWithinMessage()).isFalse();
        }
    }
}
