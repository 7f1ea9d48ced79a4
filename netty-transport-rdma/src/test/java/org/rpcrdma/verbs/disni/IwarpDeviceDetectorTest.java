// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The file system as Linux has it under {@code /proc} and {@code /sys}. */
class IwarpDeviceDetectorTest {

    @TempDir Path root;

    private void device(int fileDescriptor, String file, String name, String nodeType)
            throws IOException {
        Path open = Files.createDirectories(root.resolve("proc/self/fd"));
        Files.createSymbolicLink(open.resolve(String.valueOf(fileDescriptor)), Path.of(file));
        String uverbs = Path.of(file).getFileName().toString();
        Path verbs = root.resolve("sys/class/infiniband_verbs/" + uverbs);
        Files.writeString(Files.createDirectories(verbs).resolve("ibdev"), name + "\n");
        Path device = root.resolve("sys/class/infiniband/" + name);
        Files.writeString(Files.createDirectories(device).resolve("node_type"), nodeType + "\n");
    }

    @ParameterizedTest
    @CsvSource({"4: RNIC, true", "1: CA, false"})
    void theKernelNamesTheTypeOfTheNode(String nodeType, boolean isIwarp) throws IOException {
        device(10, "/dev/infiniband/uverbs0", "other0", isIwarp ? "1: CA" : "4: RNIC");
        device(11, "/dev/infiniband/uverbs1", "device1", nodeType);
        assertThat(IwarpDeviceDetector.mayBeIwarp(root, 11)).isEqualTo(isIwarp);
    }

    @Test
    void whatNobodyKnowsMayBeIwarp() throws IOException {
        assertThat(IwarpDeviceDetector.mayBeIwarp(root, 10)).isTrue();
        device(10, "/dev/null", "device0", "1: CA");
        Files.delete(root.resolve("sys/class/infiniband/device0/node_type"));
        assertThat(IwarpDeviceDetector.mayBeIwarp(root, 10)).isTrue();
    }
}
