// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.common;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.rpc.XdrDecoder;
import org.rpcrdma.codec.rpc.XdrEncodable;
import org.rpcrdma.examples.NfsFixture;

/** What a user reads when the server goes away: its name, and nothing of XIDs, retransmissions and queue pairs. */
class LostServerTest {

    private static final Duration PATIENCE = Duration.ofSeconds(3);

    @TempDir private Path exported;
    @TempDir private Path state;

    private final PrintStream err = System.err;
    private final ByteArrayOutputStream told = new ByteArrayOutputStream();

    /** A server that is there, and does not answer: over TCP nobody reads, over RDMA it would be the same. */
    @Test
    void aWaitIsToldOf() throws Exception {
        try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            InetSocketAddress server = (InetSocketAddress) silent.getLocalSocketAddress();
            System.setErr(new PrintStream(told, true, StandardCharsets.UTF_8));
            try (RpcConnection client = RpcConnection.tcp(server)) {
                assertThatThrownBy(() -> callNull(client))
                        .hasMessage(name(server) + " has not answered within 3 s");
            }
            assertThat(told.toString(StandardCharsets.UTF_8))
                    .contains(name(server) + " does not answer; waiting for up to 3 s");
        } finally {
            System.setErr(err);
        }
    }

    @Test
    void theServerIsNamedAndNothingElse() throws IOException {
        NfsFixture fixture =
                new NfsFixture(NfsFixture.Transport.RDMA, exported, state.resolve("key"), true);
        InetSocketAddress server = fixture.nfsAddress();
        try (RpcConnection client = RpcConnection.rdma(server, RpcRdmaConfig.defaults())) {
            fixture.close();
            assertThatThrownBy(() -> callNull(client))
                    .isInstanceOf(IOException.class)
                    .satisfies(
                            lost ->
                                    assertThat(lost.getMessage())
                                            .isIn(
                                                    name(server) + " has not answered within 3 s",
                                                    "the connection to "
                                                            + name(server)
                                                            + " was lost"));
        }
    }

    private static String name(InetSocketAddress server) {
        return server.getHostString() + ":" + server.getPort();
    }

    private static void callNull(RpcConnection connection) throws IOException {
        connection.await(
                connection.client(100003, 3, PATIENCE).call(0, XdrEncodable.VOID, XdrDecoder.VOID),
                PATIENCE);
    }
}
