// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.path;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Counts what one call takes, and holds it below ceilings. With {@code -Dpath.report=FILE} it writes the tables there,
 * with {@code -Dpath.lower=true} it lowers the ceilings, with {@code -Dpath.chart=FILE} it draws a chart too, with
 * {@code -Dpath.tree=CALL} it writes call trees instead, see {@code benchmarks/path}.
 */
class PathLengthTest {

    private static final Path CEILINGS =
            Path.of("src/test/resources/org/rpcrdma/benchmarks/path/ceilings.txt");

    /** What the report names. */
    private static final int MOST = Integer.getInteger("path.top", 25);

    /** The call whose trees the report has; {@code null} for none. */
    private static final String TREE = System.getProperty("path.tree");

    /** Entries of a method and of those below it, for which a tree has a line. */
    private static final double LEAST_IN_TREE = 1;

    private static List<PathLength> measure(PathTransport transport)
            throws ReflectiveOperationException {
        CountingClassLoader loader = new CountingClassLoader();
        List<PathLength> lengths = new ArrayList<>();
        for (PathCall call : PathCall.values()) {
            if (call.isOver(transport)) {
                lengths.addAll(PathLength.measure(loader, transport, call));
            }
        }
        return lengths;
    }

    private static void reportTree(Path file) throws IOException, ReflectiveOperationException {
        PathCall call = PathCall.valueOf(TREE);
        List<PathLength> lengths = new ArrayList<>();
        for (PathTransport transport : PathTransport.values()) {
            if (call.isOver(transport)) {
                lengths.addAll(PathLength.measure(new CountingClassLoader(), transport, call));
            }
        }
        Files.writeString(file, new PathTable(lengths).trees(call, LEAST_IN_TREE));
    }

    @Test
    void aCallIsNoLongerThanItsCeilings() throws Exception {
        String report = System.getProperty("path.report");
        if (TREE != null && report != null) {
            reportTree(Path.of(report));
            return;
        }
        List<PathLength> lengths = measure(PathTransport.RDMA);
        lengths.addAll(measure(PathTransport.STREAM));
        assumeFalse(lengths.isEmpty(), "without Unsafe Netty's paths are other ones");
        PathCeilings ceilings = new PathCeilings(CEILINGS);
        if (Boolean.getBoolean("path.lower")) {
            ceilings.lower(lengths);
            ceilings = new PathCeilings(CEILINGS);
        }
        if (report != null) {
            report(Path.of(report), lengths);
        }
        assertThat(ceilings.complaints(lengths)).isEmpty();
    }

    private static void report(Path file, List<PathLength> ours)
            throws IOException, ReflectiveOperationException {
        List<PathLength> all = new ArrayList<>(ours);
        all.addAll(measure(PathTransport.NIO));
        PathTable table = new PathTable(all);
        StringBuilder text = new StringBuilder(table.table()).append('\n').append(table.methods());
        for (PathCall call : PathCall.values()) {
            text.append(table.top(call, MOST));
        }
        Files.writeString(file, text);
        String chart = System.getProperty("path.chart");
        if (chart != null) {
            PathChart.write(all, Path.of(chart));
        }
    }

    @Test
    void aPathThatBecomesLongerIsToldSo(@TempDir Path directory) throws Exception {
        List<PathLength> lengths = measureNull();
        assumeFalse(lengths.isEmpty(), "without Unsafe Netty's paths are other ones");
        PathCeilings ceilings =
                ceilings(
                        directory,
                        "RDMA NULL REQUESTER 10 0 9999\nRDMA NULL RESPONDER 9999 0 9999\n");
        assertThat(String.join("\n", ceilings.complaints(lengths)))
                .containsPattern(
                        "RDMA NULL REQUESTER takes \\d+ method entries, and may take 10: .*longer")
                .containsPattern(
                        "RDMA NULL RESPONDER takes \\d+ method entries, .*benchmarks/path --lower");
    }

    @Test
    void ceilingsOnlyGoDown(@TempDir Path directory) throws Exception {
        List<PathLength> lengths = measureNull();
        assumeFalse(lengths.isEmpty(), "without Unsafe Netty's paths are other ones");
        ceilings(directory, "RDMA NULL REQUESTER 10 0 9999\nRDMA NULL RESPONDER 9999 0 9999\n")
                .lower(lengths);
        assertThat(Files.readString(directory.resolve("ceilings.txt")))
                .containsPattern("RDMA +NULL +REQUESTER +10 ")
                .doesNotContain("9999");
    }

    /** Two class loaders: nothing of the first run is left for the second. */
    @Test
    void theSameCallTakesTheSameAgain() throws Exception {
        List<PathLength> first = measureNull();
        List<PathLength> second = measureNull();
        assertThat(new PathTable(second).table()).isEqualTo(new PathTable(first).table());
        assertThat(second.stream().map(each -> each.methods).toList())
                .usingRecursiveComparison()
                .ignoringCollectionOrder()
                .isEqualTo(first.stream().map(each -> each.methods).toList());
    }

    private static List<PathLength> measureNull() throws ReflectiveOperationException {
        return PathLength.measure(new CountingClassLoader(), PathTransport.RDMA, PathCall.NULL);
    }

    private static PathCeilings ceilings(Path directory, String text) throws IOException {
        return new PathCeilings(Files.writeString(directory.resolve("ceilings.txt"), text));
    }
}
