// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.util.Version;
import java.util.List;
import java.util.Optional;
import org.rpcrdma.benchmarks.Transport;

/**
 * All that one run has found; what its JSON file has.
 *
 * @param machine that it ran on
 * @param baseline what ratios are against
 * @param inOneProcess whether client and server shared a process
 */
record Comparison(Machine machine, Transport baseline, boolean inOneProcess, List<Row> rows) {

    /**
     * @param cpus that the process may use
     */
    record Machine(String system, int cpus, String java, String netty) {

        static Machine here() {
            return new Machine(
                    System.getProperty("os.name") + ' ' + System.getProperty("os.version"),
                    Runtime.getRuntime().availableProcessors(),
                    System.getProperty("java.vm.version"),
                    Version.identify().get("netty-transport").artifactVersion());
        }
    }

    List<Work> works() {
        return rows.stream().map(Row::work).distinct().toList();
    }

    List<Transport> transports() {
        return rows.stream().map(Row::transport).distinct().toList();
    }

    Optional<Row> row(Work work, Transport transport) {
        return rows.stream()
                .filter(row -> row.transport() == transport && row.work().equals(work))
                .findFirst();
    }
}
