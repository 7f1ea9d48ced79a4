// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.rpcrdma.Proves;
import org.rpcrdma.verbs.QueuePair;

/** STags are unpredictable, differ each time, and give exactly what was exposed. */
class StagTableTest {

    private static final long BASE = 0x7fff_1234_5678_9000L;

    private final StagTable table = new StagTable(100, SecureRandom::new);
    private final LocalKeyTable memory = new LocalKeyTable(table, () -> {});
    private final IwarpMemoryRegion region = memory.register(ByteBuffer.allocateDirect(8192), BASE);
    private final ExposureOwner owner =
            new ExposureOwner() {
                @Override
                protected void revoking(IwarpExposure exposure) {}
            };

    private IwarpExposure expose(int length) {
        return table.expose(owner, region, BASE, length, QueuePair.REMOTE_READ);
    }

    @Test
    @Proves("SEC-02")
    void neverRepeatsAnStagSoon() {
        Set<Integer> seen = new HashSet<>();
        for (int i = 0; i < 10_000; i++) {
            IwarpExposure exposure = expose(1);
            int stag = exposure.stag();
            assertThat(seen.add(stag)).isTrue();
            assertThat(stag & 0xff).isNotZero();
            assertThat(exposure.offset() & 0xfff).isZero();
            assertThat(exposure.offset()).isNotNegative().isNotEqualTo(BASE);
            table.invalidate(exposure);
            assertThat(table.find(stag)).isNull();
        }
    }

    @Test
    @Proves("SEC-02")
    void indicesAreSpreadOverTheWholeRange() {
        Set<Integer> highBits = new HashSet<>();
        for (int i = 0; i < 100; i++) {
            highBits.add(expose(1).stag() >>> 28);
        }
        assertThat(highBits).hasSizeGreaterThan(8);
    }

    @Test
    void tellsWhenAllAreInUse() {
        IwarpExposure first = expose(1);
        for (int i = 1; i < 100; i++) {
            expose(1);
        }
        assertThatThrownBy(() -> expose(1))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("100");
        table.invalidate(first);
        assertThat(expose(1).stag()).isNotZero();
        table.invalidateAll(owner);
        assertThat(owner.exposures).isNull();
        assertThat(region.exposures).isNull();
    }

    @Test
    @Proves("SEC-07")
    void givesOneRightInsideOneRegion() {
        assertThatThrownBy(() -> table.expose(owner, region, BASE, 1, 3))
                .hasMessageContaining("Access is 3");
        assertThatThrownBy(() -> table.expose(owner, region, BASE, 1, 0))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> expose(8193)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> expose(-1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> table.expose(owner, region, BASE - 1, 1, 1))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    @Proves("SEC-03")
    void localKeysAreNoStags() {
        assertThat(table.find(region.localKey())).isNull();
        assertThat(table.find(0)).isNull();
        region.deregister();
        assertThat(memory.find(region.localKey(), BASE, 1)).isNull();
        assertThat(memory.register(ByteBuffer.allocateDirect(8), BASE).localKey())
                .isNotEqualTo(region.localKey());
    }

    @Test
    void onlyDirectWritableMemoryIsRegistered() {
        assertThatThrownBy(() -> memory.register(ByteBuffer.allocate(8), 0))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(
                        () -> memory.register(ByteBuffer.allocateDirect(8).asReadOnlyBuffer(), 0))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
