// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.path;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.BitmapEncoder.BitmapFormat;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.style.Styler.LegendPosition;

/** The method entries of each call at each end, by family, over RDMA and over TCP beside each other. */
final class PathChart {

    private static final int WIDTH = 1000;
    private static final int HEIGHT = 420;

    private PathChart() {}

    static void write(List<PathLength> lengths, Path file) throws IOException {
        System.setProperty("java.awt.headless", "true");
        List<PathLength> ordered = lengths.stream().sorted(PathChart::compare).toList();
        CategoryChart chart =
                new CategoryChartBuilder()
                        .width(WIDTH)
                        .height(HEIGHT)
                        .title("Method entries of a call, 16 outstanding (less is better)")
                        .build();
        chart.getStyler()
                .setStacked(true)
                .setXAxisLabelRotation(45)
                .setLegendPosition(LegendPosition.OutsideE);
        List<String> labels = ordered.stream().map(PathChart::label).toList();
        for (Family family : Family.values()) {
            chart.addSeries(
                    family.label(),
                    labels,
                    ordered.stream().map(length -> length.entries(family)).toList());
        }
        BitmapEncoder.saveBitmap(chart, file.toString(), BitmapFormat.PNG);
    }

    private static int compare(PathLength one, PathLength other) {
        int byCall = one.call.compareTo(other.call);
        int byRole = one.role.compareTo(other.role);
        return byCall != 0
                ? byCall
                : byRole != 0 ? byRole : one.transport.compareTo(other.transport);
    }

    private static String label(PathLength length) {
        return length.call.label + ' ' + length.role.label + ", " + length.transport.label;
    }
}
