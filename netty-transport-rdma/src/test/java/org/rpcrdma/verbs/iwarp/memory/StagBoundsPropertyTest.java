// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.security.SecureRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;
import org.rpcrdma.verbs.QueuePair;

/** A range is inside an exposure exactly when each of its bytes is. */
class StagBoundsPropertyTest {

    private static final long BASE = 0xffff_8000_0000_0000L;

    private final StagTable table = new StagTable(1, SecureRandom::new);
    private final IwarpMemoryRegion region =
            new LocalKeyTable(table, () -> {}).register(ByteBuffer.allocateDirect(8192), BASE);
    private final ExposureOwner owner =
            new ExposureOwner() {
                @Override
                protected void revoking(IwarpExposure exposure) {}
            };

    private boolean contains(int length, long start, long size) {
        IwarpExposure exposure = table.expose(owner, region, BASE, length, QueuePair.REMOTE_READ);
        boolean inside = exposure.contains(exposure.offset() + start, size);
        table.invalidate(exposure);
        return inside;
    }

    @Property
    void nearTheRange(
            @ForAll @IntRange(max = 8192) int length,
            @ForAll @IntRange(min = -20, max = 8300) int start,
            @ForAll @IntRange(max = 8300) int size) {
        assertThat(contains(length, start, size)).isEqualTo(start >= 0 && start + size <= length);
    }

    @Property
    void farAway(
            @ForAll @IntRange(max = 8192) int length,
            @ForAll @LongRange(min = Long.MIN_VALUE, max = Long.MAX_VALUE) long start,
            @ForAll @LongRange(min = 0, max = 0xffff_ffffL) long size) {
        boolean inside = start >= 0 && start <= length && size <= length - start;
        assertThat(contains(length, start, size)).isEqualTo(inside);
    }
}
