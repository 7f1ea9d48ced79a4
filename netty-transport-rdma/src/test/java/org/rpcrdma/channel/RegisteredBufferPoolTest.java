// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.VerbsContext;
import org.rpcrdma.verbs.disni.software.SoftwareDisniProvider;
import org.rpcrdma.verbs.disni.software.SoftwareRdmaProvider;

class RegisteredBufferPoolTest {

    @Test
    void memoryThatTheDeviceRefusesIsNotKept() throws IOException {
        SoftwareRdmaProvider device = SoftwareRdmaProvider.install();
        try (VerbsContext context = new SoftwareDisniProvider().open()) {
            RegisteredBufferPool pool = new RegisteredBufferPool(context, () -> true);
            device.limitMemory(device.registeredBytes());
            assertThatThrownBy(() -> pool.take(100))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("RLIMIT_MEMLOCK");
            assertThat(pool.bytes()).isZero();
            device.limitMemory(Long.MAX_VALUE);
            pool.take(100).buffer().release();
            assertThat(pool.bytes()).isEqualTo(1 << 20);
            pool.close();
        } finally {
            device.limitMemory(Long.MAX_VALUE);
        }
    }

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
