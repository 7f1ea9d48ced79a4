// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rpcrdma.channel.admission.AddressAllowList;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.rpc.XdrDecoder;
import org.rpcrdma.codec.rpc.XdrEncodable;
import org.rpcrdma.examples.common.RpcConnection;
import org.rpcrdma.examples.export.Export;

/** Each listener of the server asks who may connect. */
class AdmissionTest {

    private static final InetSocketAddress ANY =
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

    private static final Duration LIMIT = Duration.ofSeconds(20);

    @TempDir private Path directory;
    @TempDir private Path state;

    @Test
    void strangersReachNoListener() throws Exception {
        try (Server served = serve(new Admission(AddressAllowList.of("192.0.2.0/24"), 8, 8))) {
            assertThatThrownBy(() -> callOverRdma(served)).isInstanceOf(IOException.class);
            assertThatThrownBy(() -> callOverTcp(served)).isInstanceOf(IOException.class);
        }
    }

    @Test
    void thoseWhoAreAllowedReachAll() throws Exception {
        try (Server served =
                serve(new Admission(AddressAllowList.of("127.0.0.0/8", "::1"), 8, 8))) {
            callOverRdma(served);
            callOverTcp(served);
        }
    }

    @Test
    void connectionsOfAnAddressAreLimited() throws Exception {
        try (Server served = serve(new Admission(null, 8, 1));
                RpcConnection first = RpcConnection.rdma(served.rdma(), RpcRdmaConfig.defaults())) {
            call(first);
            assertThatThrownBy(() -> callOverRdma(served)).isInstanceOf(IOException.class);
            call(first);
        }
    }

    private record Server(
            Export export, NfsServer server, InetSocketAddress rdma, InetSocketAddress tcp)
            implements AutoCloseable {
        @Override
        public void close() {
            server.close();
            export.close();
        }
    }

    private Server serve(Admission admission) throws IOException {
        Export export = new Export(directory, true, state.resolve("key"));
        NfsServer server = new NfsServer(export, 0, false, admission);
        return new Server(
                export,
                server,
                server.serveNfsOverRdma(ANY, RpcRdmaConfig.defaults()),
                server.serveNfsOverTcp(ANY));
    }

    private static void callOverRdma(Server server) throws IOException {
        try (RpcConnection connection =
                RpcConnection.rdma(server.rdma(), RpcRdmaConfig.defaults())) {
            call(connection);
        }
    }

    private static void callOverTcp(Server server) throws IOException {
        try (RpcConnection connection = RpcConnection.tcp(server.tcp())) {
            call(connection);
        }
    }

    private static void call(RpcConnection connection) throws IOException {
        connection.await(
                connection.client(100003, 3, LIMIT).call(0, XdrEncodable.VOID, XdrDecoder.VOID),
                LIMIT);
    }
}
