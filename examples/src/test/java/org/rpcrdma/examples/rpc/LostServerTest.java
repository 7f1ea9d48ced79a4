// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetSocketAddress;
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
