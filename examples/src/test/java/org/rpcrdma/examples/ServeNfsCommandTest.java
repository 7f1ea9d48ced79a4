// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.netty.util.ReferenceCountUtil;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rpcrdma.examples.client.Nfs3Client;
import org.rpcrdma.examples.client.NfsSession;
import org.rpcrdma.examples.common.RpcConnection;
import org.rpcrdma.examples.nfs.NfsHandle;

/** The server as users start it, as root. */
class ServeNfsCommandTest {

    @TempDir private Path directory;
    @TempDir private Path state;

    @BeforeEach
    void makeSecret() throws IOException {
        assumeThat((int) Files.getAttribute(directory, "unix:uid")).as("only root has").isZero();
        Files.setAttribute(directory, "unix:mode", 0755);
        Path secret = Files.writeString(directory.resolve("secret"), "secret");
        Files.setAttribute(secret, "unix:mode", 0600);
    }

    private Process serve(String... more) throws IOException {
        List<String> line = new ArrayList<>();
        line.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        line.add("-Xmx256m");
        // It is over before the optimizing compiler pays.
        line.add("-XX:TieredStopAtLevel=1");
        line.add("--add-opens=java.base/sun.nio.ch=ALL-UNNAMED");
        line.add("--add-opens=java.base/java.io=ALL-UNNAMED");
        line.add("-cp");
        line.add(
                System.getProperty(
                        "surefire.test.class.path", System.getProperty("java.class.path")));
        line.add(Main.class.getName());
        line.addAll(List.of("serve-nfs", "--export", directory.toString()));
        line.addAll(List.of("--port", "0", "--mount-port", "0", "--tcp-port", "0"));
        line.addAll(List.of(more));
        ProcessBuilder server = new ProcessBuilder(line).redirectErrorStream(true);
        server.environment().put("XDG_STATE_HOME", state.toString());
        return server.start();
    }

    /** Of what the server says before. */
    private static InetSocketAddress address(BufferedReader out, String what) throws IOException {
        String line = out.readLine();
        while (!line.endsWith(" for " + what)) {
            line = out.readLine();
        }
        String port = line.substring(line.indexOf(':') + 1, line.indexOf(" for "));
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(port));
    }

    private static void read(Process server) throws IOException {
        try (BufferedReader out = server.inputReader(StandardCharsets.UTF_8)) {
            RpcConnection mount = RpcConnection.tcp(address(out, "MOUNT over TCP"));
            RpcConnection tcp = RpcConnection.tcp(address(out, "NFS over TCP"));
            try (NfsSession session = NfsSession.open(tcp, mount, NfsFixture.ROOT)) {
                Nfs3Client nfs = session.nfs();
                NfsHandle file = session.find("/secret").handle();
                ReferenceCountUtil.release(nfs.await(nfs.read(file, "secret", 0, 10)).data());
            }
        } finally {
            server.destroyForcibly();
        }
    }

    @Test
    void rootOfAClientIsNobodyUnlessTheUserSaysOtherwise() throws IOException {
        Process squashing = serve();
        assertThatThrownBy(() -> read(squashing)).hasMessage("secret: permission denied");
        Process trusting = serve("--no-root-squash");
        read(trusting);
        assertThat(state.resolve("rpcrdma/handle.key")).exists();
    }
}
