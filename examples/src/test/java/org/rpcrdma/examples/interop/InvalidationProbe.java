// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.channel.Rdma;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.client.RpcRdmaClient;

/**
 * Data to and from the kernel's NFS server, which invalidates what it was told of, in one of its chunks.
 *
 * <pre>
 * InvalidationProbe HOST:PORT MOUNT_HOST:PORT EXPORT
 * </pre>
 */
public final class InvalidationProbe {

    private static final int PATIENCE_SECONDS = 60;

    private InvalidationProbe() {}

    public static void main(String[] arguments) {
        int status = 2;
        try {
            status = run(arguments);
        } catch (Throwable e) {
            e.printStackTrace(System.out);
        }
        // The threads of the event loops would keep a program alive that has failed.
        System.exit(status);
    }

    private static int run(String[] arguments) throws Exception {
        RdmaEventLoopGroup loops =
                new RdmaEventLoopGroup(
                        1,
                        Rdma.provider(System.getProperty("org.rpcrdma.provider", "iwarp")),
                        PollMode.ADAPTIVE);
        RpcRdmaConfig config = RpcRdmaConfig.builder().remoteInvalidation(true).build();
        RpcRdmaClient client =
                RpcRdmaClient.builder(loops, Devices.address(arguments[0])).config(config).build();
        Report report = new Report(System.out);
        Peer peer = new Peer(client);
        peer.await(Peer.nobody(100003, 3, 0))
                .release(); // the server asks for its export list first
        byte[] root = Peer.mount(Devices.address(arguments[1]), arguments[2]);
        new Nfs3Checks(peer, root).runData(report);
        long remote = client.metrics().value(RpcRdmaCounter.REMOTE_INVALIDATIONS);
        long local = client.metrics().value(RpcRdmaCounter.LOCAL_INVALIDATIONS);
        report.check(
                "the server invalidates (" + remote + " keys; " + local + " were ended here)",
                () -> Report.holds(remote > 0, "it has invalidated nothing"));
        report.check("the client's end", () -> client.closeAsync().get());
        loops.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
        return report.failed() == 0 ? 0 : 1;
    }
}
