// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.IOException;
import java.nio.file.Path;
import org.rpcrdma.codec.RdmaPcapFile;
import org.rpcrdma.codec.RpcRdmaConfig;
import picocli.CommandLine.Option;

/** The option of all commands that writes a file for Wireshark. */
final class Capture {

    @Option(
            names = "--pcap",
            paramLabel = "FILE",
            description = {
                "Write what is sent and received over RDMA to FILE, for Wireshark.",
                "Works on every device; it is slow, and data is in FILE as it is."
            })
    private Path path;

    /** The file stays open as long as the process: what was captured is in it at any time. */
    RpcRdmaConfig.Builder applyTo(RpcRdmaConfig.Builder config) throws IOException {
        return path == null ? config : config.capture(RdmaPcapFile.create(path));
    }
}
