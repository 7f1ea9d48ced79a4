// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.examples.NfsFixture;

/**
 * What is asked of the kernel's server is asked of the example's own: so the questions stay right, and both give
 * one answer.
 */
class Nfs3ChecksTest {

    @TempDir private Path directory;
    @TempDir private Path state;

    @Test
    void everyProcedureOverRdma() throws Exception {
        Files.createFile(Files.createDirectory(directory.resolve("names")).resolve("one"));
        ByteArrayOutputStream lines = new ByteArrayOutputStream();
        Report report = new Report(new PrintStream(lines, true, StandardCharsets.UTF_8));
        RdmaEventLoopGroup loops = new RdmaEventLoopGroup(1);
        try (NfsFixture fixture =
                new NfsFixture(NfsFixture.Transport.RDMA, directory, state.resolve("key"), false)) {
            RpcRdmaClient client = RpcRdmaClient.builder(loops, fixture.nfsAddress()).build();
            byte[] root = Peer.mount(fixture.mountAddress(), "/");
            Nfs3Checks checks = new Nfs3Checks(new Peer(client), root);
            checks.run(report);
            assertThat(checks.list(checks.lookup(root, "names"), 1 << 20, new int[1]))
                    .isEqualTo(Set.of("one"));
            client.closeAsync().sync();
        } finally {
            loops.shutdownGracefully(0, 60, TimeUnit.SECONDS).sync();
        }
        assertThat(lines.toString(StandardCharsets.UTF_8).lines())
                .isNotEmpty()
                .allMatch(line -> line.startsWith("ok "));
    }
}
