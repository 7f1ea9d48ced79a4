// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Determines whether a device speaks iWARP. DiSNI does not tell, but it tells the file descriptor of the device,
 * whose name the kernel knows.
 */
final class IwarpDeviceDetector {

    /** {@code RDMA_NODE_RNIC}, with its name, as the kernel shows it. */
    private static final String RNIC = "4: RNIC";

    private IwarpDeviceDetector() {}

    /**
     * False where the kernel says that it is InfiniBand or RoCE; true for iWARP, and also when nothing is known: what
     * iWARP needs works everywhere.
     *
     * @param root of the file system
     * @param fileDescriptor of the device, in this process
     */
    static boolean mayBeIwarp(Path root, int fileDescriptor) {
        try {
            Path file =
                    Files.readSymbolicLink(
                            root.resolve("proc/self/fd").resolve(String.valueOf(fileDescriptor)));
            Path sys = root.resolve("sys/class");
            String uverbs = file.getFileName().toString();
            String name =
                    Files.readString(sys.resolve("infiniband_verbs/" + uverbs + "/ibdev")).strip();
            String type = Files.readString(sys.resolve("infiniband/" + name + "/node_type"));
            return RNIC.equals(type.strip());
        } catch (IOException | RuntimeException e) {
            return true;
        }
    }
}
