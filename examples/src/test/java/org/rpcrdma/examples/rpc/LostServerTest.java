// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.rpc.OpaqueAuth;
import org.rpcrdma.examples.NfsFixture;

/** What a user reads when the server goes away: its name, and nothing of XIDs, retransmissions and queue pairs. */
class LostServerTest {

    private static final long SECONDS = 3;

    @TempDir private Path exported;
    @TempDir private Path state;

    @Test
    void theServerIsNamedAndNothingElse() throws IOException {
        NfsFixture fixture =
                new NfsFixture(NfsFixture.Transport.RDMA, exported, state.resolve("key"), true);
        InetSocketAddress server = fixture.nfsAddress();
        try (RdmaRpcClient client = RdmaRpcClient.connect(server, RpcRdmaConfig.defaults())) {
            fixture.close();
            assertThatThrownBy(() -> callNull(client))
                    .isInstanceOf(RpcException.class)
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

    private static void callNull(RpcClient client) throws IOException {
        Calls.await(
                client.call(100003, 3, 0, OpaqueAuth.NONE, Unpooled.EMPTY_BUFFER, SECONDS * 1000),
                results -> null);
    }
}
