// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

class RegisteredBufferPoolTest {

    @Property
    void theClassOfACapacityIsTheSmallestThatHoldsIt(
            @ForAll @IntRange(max = 1 << 30) int capacity) {
        int sizeClass = RegisteredBufferPool.sizeClass(capacity);
        assertThat(RegisteredBufferPool.size(sizeClass)).isGreaterThanOrEqualTo(capacity);
        if (capacity > 256) {
            assertThat(RegisteredBufferPool.size(sizeClass - 1)).isLessThan(capacity);
            assertThat((double) RegisteredBufferPool.size(sizeClass) / capacity)
                    .isLessThanOrEqualTo(1.25);
        }
    }
}
