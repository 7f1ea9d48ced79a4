// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * What a process has used since it began, or between two looks. Figures that the system does not tell are 0.
 *
 * @param cpuNanos time of all its threads on a CPU
 * @param allocatedBytes on the heap, by all its threads but the one that looks
 * @param waitedNanos that its threads were ready to run and had no CPU
 * @param systemCalls that read or write by file descriptor; those that send, receive or wait are not counted
 */
record Cost(long cpuNanos, long allocatedBytes, long waitedNanos, long systemCalls) {

    static final Cost NOTHING = new Cost(0, 0, 0, 0);

    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final Path TASKS = Path.of("/proc/self/task");
    private static final Path IO = Path.of("/proc/self/io");

    /** Of this process. */
    static Cost now() {
        return new Cost(SYSTEM.getProcessCpuTime(), allocatedByOthers(), waited(), calls());
    }

    Cost since(Cost before) {
        return new Cost(
                cpuNanos - before.cpuNanos,
                Math.max(0, allocatedBytes - before.allocatedBytes),
                Math.max(0, waitedNanos - before.waitedNanos),
                systemCalls - before.systemCalls);
    }

    private static long allocatedByOthers() {
        long self = Thread.currentThread().getId();
        long[] ids = THREADS.getAllThreadIds();
        long[] allocated = THREADS.getThreadAllocatedBytes(ids);
        long sum = 0;
        for (int i = 0; i < ids.length; i++) {
            if (ids[i] != self && allocated[i] > 0) {
                sum += allocated[i];
            }
        }
        return sum;
    }

    /** The second word of what the scheduler tells of each thread. */
    private static long waited() {
        if (!Files.isReadable(TASKS)) {
            return 0;
        }
        try (Stream<Path> tasks = Files.list(TASKS)) {
            return tasks.mapToLong(task -> waited(task.resolve("schedstat"))).sum();
        } catch (IOException | UncheckedIOException e) {
            return 0;
        }
    }

    private static long waited(Path schedule) {
        try {
            String[] words = Files.readString(schedule).strip().split(" ", -1);
            return words.length > 1 ? Long.parseLong(words[1]) : 0;
        } catch (IOException e) {
            return 0; // the thread has ended
        }
    }

    private static long calls() {
        try {
            List<String> lines = Files.isReadable(IO) ? Files.readAllLines(IO) : List.of();
            return lines.stream()
                    .filter(line -> line.startsWith("sysc"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                    .sum();
        } catch (IOException e) {
            return 0;
        }
    }
}
