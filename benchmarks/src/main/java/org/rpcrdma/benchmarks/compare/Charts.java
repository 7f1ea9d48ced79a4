// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.BitmapEncoder.BitmapFormat;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.style.Styler.LegendPosition;

/** The pictures of a comparison, as PNG files. */
final class Charts {

    private static final int WIDTH = 1000;
    private static final int HEIGHT = 420;

    /** Of the ratios that are shown; a bar that ends there is longer. */
    private static final double HIGHEST = 3;

    /** More bars beside each other cannot be told apart. */
    private static final List<String> SHOWN =
            List.of(
                    "RDMA",
                    "RDMA_BUSY",
                    "SHARED_BUSY",
                    "STREAM",
                    "STREAM_BUSY",
                    "SHARED_STREAM_BUSY",
                    "EPOLL",
                    "EPOLL_BUSY",
                    "EPOLL_BUSY_TUNED",
                    "UNIX_BUSY");

    private final Comparison comparison;
    private final Path directory;

    private Charts(Comparison comparison, Path directory) {
        this.comparison = comparison;
        this.directory = directory;
    }

    static void write(Comparison comparison, Path directory) throws IOException {
        System.setProperty("java.awt.headless", "true");
        Files.createDirectories(directory);
        Charts charts = new Charts(comparison, directory);
        String baseline = comparison.baseline();
        charts.ratios(
                "round-trips",
                "RPC: round trip, divided by that of " + baseline + " (less is better)",
                work -> Summary.isRpc(work) && work.isRoundTrip(),
                Window::medianMicros);
        charts.ratios(
                "rates",
                "RPC: calls a second, divided by those of " + baseline + " (more is better)",
                work -> Summary.isRpc(work) && work.isPipelined() && work.connections() == 1,
                Window::callsPerSecond);
        charts.ratios(
                "load",
                "RPC under load: p99, divided by that of " + baseline + " (less is better)",
                work -> work.load() > 0,
                Window::p99);
        charts.ratios(
                "streams",
                "Byte streams: round trip, divided by that of EPOLL_BUSY (less is better)",
                work -> !Summary.isRpc(work) && work.isRoundTrip(),
                Window::medianMicros);
    }

    private void ratios(
            String name, String title, Predicate<Work> which, ToDoubleFunction<Window> figure)
            throws IOException {
        List<Work> works = comparison.works().stream().filter(which).toList();
        if (works.isEmpty()) {
            return;
        }
        CategoryChart chart =
                new CategoryChartBuilder().width(WIDTH).height(HEIGHT).title(title).build();
        chart.getStyler().setXAxisLabelRotation(20);
        chart.getStyler()
                .setYAxisMin(0.0)
                .setYAxisMax(HIGHEST)
                .setLegendPosition(LegendPosition.OutsideE);
        List<String> labels = works.stream().map(Work::label).toList();
        for (String transport : SHOWN) {
            List<Double> middle = new ArrayList<>();
            List<Double> spread = new ArrayList<>();
            for (Work work : works) {
                Optional<Spread> ratio =
                        comparison
                                .row(work, transport)
                                .filter(row -> row.isComparable(comparison.baseline(work)))
                                .map(row -> row.ratio(comparison.baseline(work), figure));
                middle.add(ratio.map(r -> Math.min(r.median(), HIGHEST)).orElse(0.0));
                spread.add(ratio.map(Charts::half).orElse(0.0));
            }
            if (middle.stream().anyMatch(ratio -> ratio > 0)) {
                chart.addSeries(transport, labels, middle, spread);
            }
        }
        if (!chart.getSeriesMap().isEmpty()) {
            BitmapEncoder.saveBitmap(
                    chart, directory.resolve(name + ".png").toString(), BitmapFormat.PNG);
        }
    }

    /** Of the spread, as far as it fits both sides of the median. */
    private static double half(Spread ratio) {
        double half = (ratio.greatest() - ratio.least()) / 2;
        return Math.min(half, Math.min(ratio.median(), HIGHEST));
    }
}
