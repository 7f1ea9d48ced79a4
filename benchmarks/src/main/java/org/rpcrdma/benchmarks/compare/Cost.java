// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * What a process has used since it began, or between two looks.
 *
 * @param cpuNanos time of all its threads on a CPU
 * @param allocatedBytes on the heap, by its event loop
 * @param residentBytes of memory that it has; 0 where the system does not tell
 */
record Cost(long cpuNanos, long allocatedBytes, long residentBytes) {

    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final Path STATUS = Path.of("/proc/self/status");

    /** Of this process. */
    static Cost now(long eventLoopThread) {
        return new Cost(
                SYSTEM.getProcessCpuTime(),
                THREADS.getThreadAllocatedBytes(eventLoopThread),
                residentBytesNow());
    }

    Cost since(Cost before) {
        return new Cost(
                cpuNanos - before.cpuNanos, allocatedBytes - before.allocatedBytes, residentBytes);
    }

    private static long residentBytesNow() {
        if (!Files.isReadable(STATUS)) {
            return 0;
        }
        try (Stream<String> lines = Files.lines(STATUS)) {
            return lines.filter(line -> line.startsWith("VmRSS:"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10)
                    .findFirst()
                    .orElse(0);
        } catch (IOException e) {
            return 0;
        }
    }
}
