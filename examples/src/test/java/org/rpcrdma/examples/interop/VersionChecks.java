// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import static org.rpcrdma.examples.interop.Report.holds;
import static org.rpcrdma.examples.interop.Report.same;

import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.VersionTwoConfig;
import org.rpcrdma.codec.client.RpcRdmaClient;

/** Proposes version 2 of the protocol to a server that speaks version 1. */
final class VersionChecks {

    private static final int NFS = 100003;

    private final RdmaEventLoopGroup loops;
    private final InetSocketAddress server;

    VersionChecks(RdmaEventLoopGroup loops, InetSocketAddress server) {
        this.loops = loops;
        this.server = server;
    }

    void run(Report report) {
        report.check(
                "version 2 is refused, and the call succeeds in version 1 on the same connection",
                () -> callOnConnections(1));
        report.check("the next connection starts in version 1", () -> callOnConnections(2));
    }

    /** A client remembers what the server speaks: only its first connection proposes version 2. */
    private void callOnConnections(int count) throws Exception {
        List<Channel> channels = new CopyOnWriteArrayList<>();
        RpcRdmaClient client =
                RpcRdmaClient.builder(loops, server)
                        .config(
                                RpcRdmaConfig.builder()
                                        .versionTwo(VersionTwoConfig.defaults())
                                        .build())
                        .handler(
                                () ->
                                        new ChannelInitializer<>() {
                                            @Override
                                            protected void initChannel(Channel channel) {
                                                channels.add(channel);
                                            }
                                        })
                        .build();
        try {
            callOnce(client, 1);
            for (int i = 1; i < count; i++) {
                channels.get(i - 1).close().sync();
                callOnce(client, 0);
            }
            same("connections", count, channels.size());
        } finally {
            client.closeAsync().sync();
        }
    }

    private static void callOnce(RpcRdmaClient client, long errors) throws Exception {
        client.connect().sync();
        RpcRdmaConnection connection = client.openConnections().get(0);
        new Peer(client).await(Peer.nobody(NFS, 3, 0)).release();
        holds(client.openConnections().contains(connection), "the connection was given up");
        same("version", 1, connection.version());
        same("errors", errors, connection.value(RpcRdmaCounter.ERRORS_RECEIVED));
        same("calls sent", 1 + errors, connection.value(RpcRdmaCounter.CALLS_SENT));
    }
}
