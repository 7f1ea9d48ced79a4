// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import com.google.gson.Gson;
import io.netty.util.Version;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * All that one run has found; what its JSON file has.
 *
 * @param machine that it ran on
 * @param baseline what ratios are against
 * @param inOneProcess whether client and server shared a process
 */
record Comparison(Machine machine, String baseline, boolean inOneProcess, List<Row> rows) {

    /** For work that the baseline does not do. */
    private static final String SECOND_BASELINE = "EPOLL_BUSY";

    /**
     * @param processor its model; empty where the system does not tell
     * @param cpus that the process may use
     */
    record Machine(String system, String processor, int cpus, String java, String netty) {

        static Machine here() {
            return new Machine(
                    System.getProperty("os.name") + ' ' + System.getProperty("os.version"),
                    model(),
                    Runtime.getRuntime().availableProcessors(),
                    System.getProperty("java.vm.version"),
                    Version.identify().get("netty-transport").artifactVersion());
        }

        private static String model() {
            Path told = Path.of("/proc/cpuinfo");
            if (!Files.isReadable(told)) {
                return "";
            }
            try (Stream<String> lines = Files.lines(told)) {
                return lines.filter(line -> line.startsWith("model name"))
                        .map(line -> line.substring(line.indexOf(':') + 1).strip())
                        .findFirst()
                        .orElse("");
            } catch (IOException e) {
                return "";
            }
        }
    }

    static Comparison read(Path json) throws IOException {
        return new Gson().fromJson(Files.readString(json), Comparison.class);
    }

    /** A line for each row: what one transport did at one work. */
    void write(Path json) throws IOException {
        Gson gson = new Gson();
        if (json.getParent() != null) {
            Files.createDirectories(json.getParent());
        }
        Files.writeString(
                json,
                rows.stream()
                        .map(gson::toJson)
                        .collect(
                                Collectors.joining(
                                        ",\n",
                                        "{\"machine\":"
                                                + gson.toJson(machine)
                                                + ",\n\"baseline\":"
                                                + gson.toJson(baseline)
                                                + ",\"inOneProcess\":"
                                                + inOneProcess
                                                + ",\n\"rows\":[\n",
                                        "]}\n")));
    }

    List<Work> works() {
        return rows.stream().map(Row::work).distinct().toList();
    }

    /** By their names. */
    List<String> transports() {
        return rows.stream().map(Row::transport).distinct().toList();
    }

    /** What a row's ratios are against. */
    Row baseline(Work work) {
        return row(work, baseline)
                .or(() -> row(work, SECOND_BASELINE))
                .orElseGet(
                        () ->
                                rows.stream()
                                        .filter(row -> row.work().equals(work))
                                        .findFirst()
                                        .orElseThrow());
    }

    Optional<Row> row(Work work, String transport) {
        return rows.stream()
                .filter(row -> row.transport().equals(transport) && row.work().equals(work))
                .findFirst();
    }
}
