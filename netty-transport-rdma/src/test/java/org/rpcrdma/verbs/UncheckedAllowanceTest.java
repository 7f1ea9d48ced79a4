// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class UncheckedAllowanceTest {

    @Test
    void whatFitsIsTakenOnce() {
        UncheckedAllowance allowance = new UncheckedAllowance(100);
        assertThat(allowance.tryTake(60)).isTrue();
        assertThat(allowance.tryTake(40)).isTrue();
        assertThat(allowance.tryTake(1)).isFalse();
    }

    @Test
    void oneThatDoesNotFitEndsIt() {
        UncheckedAllowance allowance = new UncheckedAllowance(100);
        assertThat(allowance.tryTake(101)).isFalse();
        assertThat(allowance.tryTake(1)).isFalse();
    }

    @Test
    void itCanBeEnded() {
        UncheckedAllowance allowance = new UncheckedAllowance(100);
        allowance.end();
        assertThat(allowance.tryTake(1)).isFalse();
    }

    /** At its limit the JVM sleeps on the event loop, once and not for each allocation. */
    @Test
    void theFirstFailureOfTheJvmEndsThatOfAllAllocations() {
        UncheckedAllowance allowance = new UncheckedAllowance(1 << 20);
        assertThatThrownBy(
                        () ->
                                LimitCheckedDirectMemoryAllocator.allocate(
                                        8,
                                        bytes -> {
                                            throw new OutOfMemoryError("simulated");
                                        },
                                        allowance))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("simulated");
        assertThat(allowance.tryTake(8)).isFalse();
    }
}
