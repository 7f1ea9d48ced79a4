// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import java.util.BitSet;
import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * One transport at one work, a window in each round.
 *
 * @param transport its name
 * @param windows in the order of the rounds
 * @param idleBytes of memory that an idle connection takes at both ends together, where the work has such; else 0
 */
record Row(Work work, String transport, List<Window> windows, long idleBytes) {

    double median(ToDoubleFunction<Window> figure) {
        return Spread.of(chosen(windows, settled(windows)).mapToDouble(figure)).median();
    }

    /** Whether there is a round in which both were not disturbed: a ratio of others tells of the machine. */
    boolean isComparable(Row other) {
        return this == other || settled(windows).intersects(settled(other.windows));
    }

    /** This divided by the other, round by round: what the machine did in a round met both. */
    Spread ratio(Row other, ToDoubleFunction<Window> figure) {
        int rounds = Math.min(windows.size(), other.windows.size());
        BitSet settled = settled(windows);
        settled.and(settled(other.windows));
        IntStream which = settled.isEmpty() ? IntStream.range(0, rounds) : settled.stream();
        return Spread.of(
                which.mapToDouble(
                        i ->
                                figure.applyAsDouble(windows.get(i))
                                        / figure.applyAsDouble(other.windows.get(i))));
    }

    /** Those windows that were not disturbed; all where all were. */
    private static Stream<Window> chosen(List<Window> windows, BitSet settled) {
        return settled.isEmpty() ? windows.stream() : settled.stream().mapToObj(windows::get);
    }

    private static BitSet settled(List<Window> windows) {
        BitSet settled = new BitSet();
        for (int i = 0; i < windows.size(); i++) {
            settled.set(i, !windows.get(i).isDisturbed());
        }
        return settled;
    }
}
