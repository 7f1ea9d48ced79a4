// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.BitmapEncoder.BitmapFormat;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.style.Styler.LegendPosition;
import org.knowm.xchart.style.markers.SeriesMarkers;
import org.rpcrdma.benchmarks.compare.ColdComparison.Condition;
import org.rpcrdma.benchmarks.compare.ColdComparison.Start;

/** Calls a second of new processes over the time since the JVM of the client began, without busy processes beside. */
final class WarmUpChart {

    private static final int WIDTH = 500;
    private static final int HEIGHT = 420;

    private WarmUpChart() {}

    /**
     * @param found of each condition, the starts of each transport
     */
    static void write(Map<Condition, Map<String, List<Start>>> found, Path file)
            throws IOException {
        System.setProperty("java.awt.headless", "true");
        Files.createDirectories(file.toAbsolutePath().getParent());
        List<XYChart> charts = new ArrayList<>();
        found.forEach(
                (condition, starts) -> {
                    if (!condition.isLoaded()) {
                        charts.add(chart(condition, starts));
                    }
                });
        BitmapEncoder.saveBitmap(charts, 1, charts.size(), file.toString(), BitmapFormat.PNG);
    }

    private static XYChart chart(Condition condition, Map<String, List<Start>> starts) {
        XYChart chart =
                new XYChartBuilder()
                        .width(WIDTH)
                        .height(HEIGHT)
                        .title("New processes: NULL, " + condition)
                        .xAxisTitle("seconds since the JVM of the client began")
                        .yAxisTitle("calls a second, medians")
                        .build();
        chart.getStyler().setXAxisMin(0.0).setLegendPosition(LegendPosition.InsideNW);
        starts.forEach(
                (transport, all) -> {
                    double first = median(all, Start::firstMillis);
                    int intervals = all.get(0).perInterval().size();
                    double[] seconds = new double[intervals];
                    double[] rates = new double[intervals];
                    for (int i = 0; i < intervals; i++) {
                        int interval = i;
                        seconds[i] = (first + (i + 0.5) * ColdCaller.INTERVAL_MILLIS) / 1e3;
                        rates[i] =
                                median(all, start -> start.perInterval().get(interval))
                                        * 1e3
                                        / ColdCaller.INTERVAL_MILLIS;
                    }
                    chart.addSeries(transport, seconds, rates).setMarker(SeriesMarkers.NONE);
                });
        return chart;
    }

    private static double median(List<Start> starts, ToDoubleFunction<Start> figure) {
        return Spread.of(starts.stream().mapToDouble(figure)).median();
    }
}
