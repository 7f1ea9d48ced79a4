// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.soak;

import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.util.List;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.verbs.DirectMemoryBudget;

/**
 * What the process holds, its garbage collected.
 *
 * @param heap bytes
 * @param registered bytes of registered memory
 * @param lent those of them that are lent
 * @param direct bytes of direct memory that the transport has taken, and Netty's allocators beside it
 * @param descriptors open files and sockets; -1 where the system does not tell
 * @param threads that live
 * @param channels registered with event loops
 */
record ResourceSample(
        long heap,
        long registered,
        long lent,
        long direct,
        int descriptors,
        int threads,
        int channels) {

    private static final int COLLECTIONS = 3;

    static ResourceSample take(List<RdmaEventLoopGroup> groups) {
        for (int i = 0; i < COLLECTIONS; i++) {
            System.gc();
        }
        return new ResourceSample(
                ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed(),
                groups.stream().mapToLong(RdmaEventLoopGroup::registeredBytes).sum(),
                groups.stream().mapToLong(RdmaEventLoopGroup::registeredBytesInUse).sum(),
                DirectMemoryBudget.jvm().used()
                        + PooledByteBufAllocator.DEFAULT.metric().usedDirectMemory()
                        + UnpooledByteBufAllocator.DEFAULT.metric().usedDirectMemory(),
                openDescriptors(),
                ManagementFactory.getThreadMXBean().getThreadCount(),
                registeredChannels(groups));
    }

    static int openDescriptors() {
        String[] descriptors = new File("/proc/self/fd").list();
        return descriptors == null ? -1 : descriptors.length;
    }

    static int registeredChannels(List<RdmaEventLoopGroup> groups) {
        return groups.stream().mapToInt(RdmaEventLoopGroup::registeredChannels).sum();
    }

    @Override
    public String toString() {
        return String.format(
                "heap %.1f MiB, direct %.1f MiB, registered %.1f MiB (%.1f lent), %d descriptors,"
                        + " %d threads, %d channels",
                heap / (double) (1 << 20),
                direct / (double) (1 << 20),
                registered / (double) (1 << 20),
                lent / (double) (1 << 20),
                descriptors,
                threads,
                channels);
    }
}
