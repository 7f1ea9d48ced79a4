// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * What a process has used since it began, or between two looks. Figures that the system does not tell are 0.
 *
 * @param cpuNanos time of all its threads on a CPU
 * @param allocatedBytes on the heap, by all its threads but the one that looks
 * @param machineNanos time of all that runs on the machine, on any CPU; in steps of 10 ms
 * @param systemCalls that read or write by file descriptor; those that send, receive or wait are not counted
 * @param compilerNanos time of the JVM's compilers on a CPU, in steps of 10 ms
 * @param pageFaults for which no disk was read: most are first touches of memory
 */
record Cost(
        long cpuNanos,
        long allocatedBytes,
        long machineNanos,
        long systemCalls,
        long compilerNanos,
        long pageFaults) {

    static final Cost NOTHING = new Cost(0, 0, 0, 0, 0, 0);

    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final Path MACHINE = Path.of("/proc/stat");
    private static final int IDLE = 4;
    private static final int STOLEN = 8;
    private static final long TICK_NANOS = 10_000_000;
    private static final Path PROCESS = Path.of("/proc/self");
    private static final Path IO = PROCESS.resolve("io");
    private static final Path THREADS_OF_SYSTEM = PROCESS.resolve("task");
    private static final Pattern COMPILER = Pattern.compile("\\(C[12] Compiler");

    /** Of the words of a thread's or a process's status, the first of which ends its name. */
    private static final int MINOR_FAULTS = 8;

    private static final int USER_TIME = 12;

    /** Of this process. */
    static Cost now() {
        return new Cost(
                SYSTEM.getProcessCpuTime(),
                allocatedByOthers(),
                machine(),
                calls(),
                compilers(),
                pageFaultsOfProcess());
    }

    Cost since(Cost before) {
        return new Cost(
                cpuNanos - before.cpuNanos,
                Math.max(0, allocatedBytes - before.allocatedBytes),
                machineNanos - before.machineNanos,
                systemCalls - before.systemCalls,
                Math.max(0, compilerNanos - before.compilerNanos),
                pageFaults - before.pageFaults);
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

    /** The first line: user, nice, system, idle, waiting for a disk, interrupts of two kinds, stolen; 100 a second. */
    private static long machine() {
        if (!Files.isReadable(MACHINE)) {
            return 0;
        }
        try (Stream<String> lines = Files.lines(MACHINE)) {
            String[] words = lines.findFirst().orElse("").split(" +", -1);
            long ticks = 0;
            for (int i = 1; i < words.length && i <= STOLEN; i++) {
                ticks += i == IDLE || i == IDLE + 1 ? 0 : Long.parseLong(words[i]);
            }
            return ticks * TICK_NANOS;
        } catch (IOException e) {
            return 0;
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

    /** The JVM tells of compilations that have ended, and of their elapsed time, in which it may have been stopped. */
    private static long compilers() {
        try (Stream<Path> threads = Files.list(THREADS_OF_SYSTEM)) {
            return threads.mapToLong(Cost::ticksOfCompiler).sum() * TICK_NANOS;
        } catch (IOException e) {
            return 0; // the system does not tell it
        }
    }

    private static long ticksOfCompiler(Path thread) {
        try {
            String status = status(thread);
            if (!COMPILER.matcher(status).find()) {
                return 0;
            }
            String[] words = words(status);
            return Long.parseLong(words[USER_TIME]) + Long.parseLong(words[USER_TIME + 1]);
        } catch (IOException e) {
            return 0; // it has ended meanwhile
        }
    }

    private static long pageFaultsOfProcess() {
        try {
            return Long.parseLong(words(status(PROCESS))[MINOR_FAULTS]);
        } catch (IOException e) {
            return 0; // the system does not tell it
        }
    }

    private static String status(Path of) throws IOException {
        return Files.readString(of.resolve("stat"));
    }

    /** Its name, which is cut after 15 characters, is in parentheses, and may have some itself (proc(5)). */
    private static String[] words(String status) {
        return status.substring(status.lastIndexOf(')')).split(" ", -1);
    }
}
