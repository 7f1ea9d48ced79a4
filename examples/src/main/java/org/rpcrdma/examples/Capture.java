// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.IOException;
import java.nio.file.Path;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.capture.RdmaPcapFile;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The option of all commands that writes a file for Wireshark. */
final class Capture {

    @Spec(Spec.Target.MIXEE)
    private CommandSpec spec;

    @ArgGroup(exclusive = false)
    private Options options;

    private static final class Options {
        @Option(
                names = "--pcap",
                required = true,
                paramLabel = "FILE",
                description = {
                    "Write what is sent and received over RDMA to FILE, for Wireshark.",
                    "Works on every device; it is slow, and data is in FILE as it is."
                })
        private Path path;

        @Option(
                names = "--pcap-size",
                paramLabel = "BYTES",
                defaultValue = "256M",
                converter = ByteCount.class,
                description = {
                    "When FILE is full (default: ${DEFAULT-VALUE}). It is renamed to FILE.1,",
                    "that to FILE.2 and so on, and begins anew."
                })
        private long maxBytes;

        @Option(
                names = "--pcap-files",
                paramLabel = "N",
                defaultValue = "4",
                description = {
                    "How many files are kept, FILE included (default: ${DEFAULT-VALUE}).",
                    "With 1 the capture ends when FILE is full."
                })
        private int files;

        @Option(
                names = "--pcap-snap",
                paramLabel = "BYTES",
                description = "How much of each packet is kept (default: all of it).")
        private Integer snapLength;

        RdmaPcapFile create() throws IOException {
            RdmaPcapFile.Builder file = RdmaPcapFile.builder(path).maxBytes(maxBytes).files(files);
            return (snapLength == null ? file : file.snapLength(snapLength)).create();
        }
    }

    /** The file stays open as long as the process: what was captured is in it at any time. */
    RpcRdmaConfig.Builder applyTo(RpcRdmaConfig.Builder config) throws IOException {
        if (options == null) {
            return config;
        }
        try {
            return config.capture(options.create());
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), "--pcap: " + e.getMessage());
        }
    }
}
