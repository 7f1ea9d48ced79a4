// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import static org.rpcrdma.examples.interop.Report.holds;
import static org.rpcrdma.examples.interop.Report.same;

import io.netty.channel.EventLoopGroup;
import java.net.InetSocketAddress;
import org.rpcrdma.codec.RpcRdmaClient;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.VersionTwo;

/** Proposes version 2 of the protocol to a server that speaks version 1. */
final class VersionChecks {

    private static final int NFS = 100003;

    private final EventLoopGroup loops;
    private final InetSocketAddress server;
    private final RpcRdmaConfig config =
            RpcRdmaConfig.builder().versionTwo(VersionTwo.defaults()).build();

    VersionChecks(EventLoopGroup loops, InetSocketAddress server) {
        this.loops = loops;
        this.server = server;
    }

    void run(Report report) {
        report.check(
                "version 2 is refused, and the call succeeds in version 1 on the same connection",
                () -> callOnce(1));
        report.check("the next connection starts in version 1", () -> callOnce(0));
    }

    private void callOnce(long errors) throws Exception {
        RpcRdmaClient client = RpcRdmaClient.builder(loops, server).config(config).build();
        try {
            client.connect().sync();
            RpcRdmaConnection connection = client.openConnections().get(0);
            new Peer(client).await(Peer.nobody(NFS, 3, 0)).release();
            holds(
                    client.openConnections().contains(connection),
                    "the first connection was given up");
            same("version", 1, connection.version());
            same("errors", errors, connection.value(RpcRdmaCounter.ERRORS_RECEIVED));
            same("calls sent", 1 + errors, connection.value(RpcRdmaCounter.CALLS_SENT));
        } finally {
            client.close().sync();
        }
    }
}
