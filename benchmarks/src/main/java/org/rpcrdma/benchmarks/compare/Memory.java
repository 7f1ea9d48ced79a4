// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.util.internal.PlatformDependent;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;

/** The memory of this process. */
final class Memory {

    private static final int COLLECTIONS = 3;

    private Memory() {}

    /** The heap after it was collected, and direct memory. What the system has for sockets is not counted. */
    static long inUse() {
        for (int i = 0; i < COLLECTIONS; i++) {
            System.gc();
        }
        long direct =
                ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                        .filter(pool -> pool.getName().equals("direct"))
                        .mapToLong(BufferPoolMXBean::getMemoryUsed)
                        .sum();
        long ofNetty =
                PlatformDependent.useDirectBufferNoCleaner()
                        ? PlatformDependent.usedDirectMemory()
                        : 0;
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()
                + direct
                + ofNetty;
    }
}
