// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.soak;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;

/** What the soak calls flat. */
class SoakSamplesTest {

    private static final long MIB = 1 << 20;
    private static final int MANY = 24;

    private static SoakSamples samples(int count, IntFunction<ResourceSample> at) {
        SoakSamples samples = new SoakSamples();
        for (int i = 0; i < count; i++) {
            samples.add(at.apply(i));
        }
        return samples;
    }

    private static ResourceSample sample(long heap, int descriptors, int channels) {
        return new ResourceSample(heap, 20 * MIB, MIB, 44 * MIB, descriptors, 11, channels);
    }

    @Test
    void theNoiseOfCallsInFlightIsFlat() {
        SoakSamples samples = samples(MANY, i -> sample((20 + i % 5) * MIB, 466 + i % 3, 156));
        assertThat(samples.isFlat()).isTrue();
        assertThat(samples.verdict()).startsWith("flat:");
    }

    @Test
    void whatGrowsWithTimeIsNamed() {
        SoakSamples heap = samples(MANY, i -> sample((20 + 2 * i) * MIB, 466, 156));
        assertThat(heap.isFlat()).isFalse();
        assertThat(heap.verdict()).startsWith("NOT FLAT: heap 44 to 60 MiB (HAS GROWN)");
        assertThat(samples(MANY, i -> sample(20 * MIB, 100 + 10 * i, 156)).isFlat()).isFalse();
        assertThat(samples(MANY, i -> sample(20 * MIB, 100, 10 + i)).isFlat()).isFalse();
    }

    @Test
    void warmingUpIsNoGrowth() {
        assertThat(samples(MANY, i -> sample(Math.min(i, 8) * 5L * MIB, 466, 156)).isFlat())
                .isTrue();
    }

    @Test
    void fewSamplesAreNotJudged() {
        SoakSamples samples = samples(5, i -> sample((20 + 100 * i) * MIB, 466, 156));
        assertThat(samples.isFlat()).isTrue();
        assertThat(samples.verdict()).contains("not judged");
    }
}
