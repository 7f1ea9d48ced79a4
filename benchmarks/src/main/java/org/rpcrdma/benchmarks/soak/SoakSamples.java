// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.soak;

import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;

/** Samples of one run, each taken without faults, and whether what the process holds has grown meanwhile. */
final class SoakSamples {

    private static final long MIB = 1 << 20;

    /** Too few samples to tell growth from the noise of calls in flight. */
    private static final int FEWEST = 6;

    /** Growth above this share of the beginning, and above the allowance of the resource, is no noise. */
    private static final double NOISE = 0.2;

    private final List<ResourceSample> samples = new ArrayList<>();

    /**
     * A resource.
     *
     * @param allowance growth that is noise, beside a share: calls in flight at the moment of the sample
     */
    private record Resource(
            String name,
            String unit,
            long scale,
            long allowance,
            ToLongFunction<ResourceSample> value) {}

    private static final List<Resource> RESOURCES =
            List.of(
                    new Resource("heap", " MiB", MIB, 8 * MIB, ResourceSample::heap),
                    new Resource("direct", " MiB", MIB, 16 * MIB, ResourceSample::direct),
                    new Resource("registered", " MiB", MIB, 16 * MIB, ResourceSample::registered),
                    new Resource("lent", " MiB", MIB, 16 * MIB, ResourceSample::lent),
                    new Resource("descriptors", "", 1, 8, ResourceSample::descriptors),
                    new Resource("threads", "", 1, 4, ResourceSample::threads),
                    new Resource("channels", "", 1, 0, ResourceSample::channels));

    void add(ResourceSample sample) {
        samples.add(sample);
    }

    static String heading() {
        return "minute  heap MiB  direct MiB  registered MiB  lent MiB  descriptors  threads "
                + " channels  answered  timed out  lost  wrong";
    }

    static String row(double minute, ResourceSample sample, SoakTally tally) {
        return String.format(
                "%6.1f  %8.1f  %10.1f  %14.1f  %8.1f  %11d  %7d  %8d  %8d  %9d  %4d  %5d",
                minute,
                sample.heap() / (double) MIB,
                sample.direct() / (double) MIB,
                sample.registered() / (double) MIB,
                sample.lent() / (double) MIB,
                sample.descriptors(),
                sample.threads(),
                sample.channels(),
                tally.answered.sum(),
                tally.timedOut.sum(),
                tally.lost.sum(),
                tally.violations());
    }

    /** Compares the middle of the second third with that of the last one; the first third warms up. */
    boolean isFlat() {
        return samples.size() < FEWEST || RESOURCES.stream().noneMatch(this::hasGrown);
    }

    private boolean hasGrown(Resource resource) {
        long before = median(1, resource);
        long growth = median(2, resource) - before;
        return growth > resource.allowance && growth > NOISE * before;
    }

    private long median(int third, Resource resource) {
        int size = samples.size();
        long[] values =
                samples.subList(size * third / 3, size * (third + 1) / 3).stream()
                        .mapToLong(resource.value)
                        .sorted()
                        .toArray();
        return values[values.length / 2];
    }

    /** A sentence about each resource. */
    String verdict() {
        if (samples.size() < FEWEST) {
            return "flatness: not judged, there are only " + samples.size() + " samples";
        }
        StringBuilder verdict = new StringBuilder(isFlat() ? "flat:" : "NOT FLAT:");
        for (Resource resource : RESOURCES) {
            verdict.append(
                    String.format(
                            " %s %d to %d%s%s;",
                            resource.name,
                            median(1, resource) / resource.scale,
                            median(2, resource) / resource.scale,
                            resource.unit,
                            hasGrown(resource) ? " (HAS GROWN)" : ""));
        }
        return verdict
                + " medians of the second and of the last third of "
                + samples.size()
                + " samples";
    }
}
