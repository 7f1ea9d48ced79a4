// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import java.util.Arrays;
import java.util.List;
import java.util.function.ToDoubleFunction;
import org.rpcrdma.benchmarks.Transport;

/**
 * One transport at one work, a window in each round.
 *
 * @param windows in the order of the rounds
 */
record Row(Work work, Transport transport, List<Window> windows) {

    double median(ToDoubleFunction<Window> figure) {
        return Spread.of(windows.stream().mapToDouble(figure)).median();
    }

    /** This divided by the other, round by round: what the machine did in a round met both. */
    Spread ratio(Row other, ToDoubleFunction<Window> figure) {
        double[] ratios = new double[Math.min(windows.size(), other.windows.size())];
        for (int i = 0; i < ratios.length; i++) {
            ratios[i] =
                    figure.applyAsDouble(windows.get(i))
                            / figure.applyAsDouble(other.windows.get(i));
        }
        return Spread.of(Arrays.stream(ratios));
    }
}
