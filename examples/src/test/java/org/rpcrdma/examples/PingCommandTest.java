// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.examples.export.Export;
import org.rpcrdma.examples.server.NfsServer;

class PingCommandTest {

    private static final String SHARED = "iwarp, the software RNIC, by shared memory";

    @TempDir private Path exported;
    @TempDir private Path local;

    /** The whole process decides on shared memory, so a server and its client get one of their own. */
    public static void main(String[] args) throws Exception {
        try (Export export = new Export(Path.of(args[0]), true, Path.of(args[1]));
                NfsServer server = new NfsServer(export)) {
            InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
            int port = server.serveNfsOverRdma(any, RpcRdmaConfig.defaults()).getPort();
            // A busy machine takes longer than the default: this is no test of time.
            String[] ping = {"ping", "127.0.0.1:" + port, "-c", "1", "--timeout", "300"};
            assertThat(Main.commandLine().execute(ping)).isZero();
        }
    }

    @Test
    void sharedMemoryIsNamedWhereItIsUsed() throws Exception {
        assertThat(ping("-Dorg.rpcrdma.iwarp.sharedMemory=true"))
                .contains("device              " + SHARED);
    }

    @Test
    void tcpIsNotNamed() throws Exception {
        assertThat(ping("-Dorg.rpcrdma.iwarp.sharedMemory=false"))
                .contains("device              iwarp, the software RNIC" + System.lineSeparator());
    }

    private String ping(String flag) throws Exception {
        Path key = local.resolve("key");
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        // It is over before the optimizing compiler pays.
        command.add("-XX:TieredStopAtLevel=1");
        command.addAll(List.of(flag, "-Dorg.rpcrdma.provider=iwarp"));
        command.addAll(List.of("--add-opens", "java.base/java.io=ALL-UNNAMED"));
        command.addAll(List.of("-cp", System.getProperty("java.class.path")));
        command.addAll(
                List.of(PingCommandTest.class.getName(), exported.toString(), key.toString()));
        Process process =
                new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try {
            String printed =
                    new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(process.waitFor()).isZero();
            return printed;
        } finally {
            process.destroyForcibly();
        }
    }
}
