// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import static org.rpcrdma.examples.interop.Report.holds;
import static org.rpcrdma.examples.interop.Report.same;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.client.RpcRdmaClient;

/**
 * Calls a server's NFSv3, and what a Linux server has beside it.
 *
 * <pre>ServerProbe PORT MOUNT_PORT EXPORT</pre>
 *
 * The export has a directory {@code names} of {@value #NAMES} files, see {@link #name}.
 */
public final class ServerProbe {

    /** So many that a page of them with attributes fills a Reply chunk of 1 MiB. */
    static final int NAMES = 3500;

    private static final int MIB = 1 << 20;

    private ServerProbe() {}

    public static void main(String[] arguments) throws Exception {
        RdmaEventLoopGroup loops = new RdmaEventLoopGroup(1);
        InetSocketAddress server = loopback(arguments[0]);
        RpcRdmaClient client = RpcRdmaClient.builder(loops, server).connections(2).build();
        Report report = new Report(System.out);
        Peer peer = new Peer(client);
        peer.await(Peer.nobody(100003, 3, 0))
                .release(); // the server asks for its export list first
        byte[] root = Peer.mount(loopback(arguments[1]), arguments[2]);
        Nfs3Checks nfs = new Nfs3Checks(peer, root);
        nfs.run(report);
        nfs.runSpecialFiles(report);
        report.check("READDIRPLUS by a Reply chunk of 1 MiB", () -> fullPages(nfs, root));
        new NfsAclChecks(peer, nfs.create("acl")).run(report);
        nfs.create("v4");
        nfs.create("reads");
        new Nfs4Checks(peer).run(report, "v4");
        RpcRdmaClient several =
                RpcRdmaClient.builder(loops, server)
                        .config(RpcRdmaConfig.builder().chunksPerCall(16).build())
                        .build();
        new Nfs4ReadChecks(new Peer(several)).run(report, "reads");
        new VersionChecks(loops, server).run(report);
        new CallbackChecks(loops, server).run(report, "v4");
        report.check(
                "the clients' end",
                () -> {
                    client.closeAsync().get();
                    several.closeAsync().get();
                });
        loops.shutdownGracefully(0, 60, TimeUnit.SECONDS).sync();
        System.exit(report.failed() == 0 ? 0 : 1);
    }

    private static void fullPages(Nfs3Checks nfs, byte[] root) throws Exception {
        int[] longest = {0};
        sameNames(nfs.list(nfs.lookup(root, "names"), MIB, longest));
        holds(longest[0] > MIB - 2048, "the longest page has " + longest[0] + " bytes");
    }

    /** @param found without {@code .} and {@code ..} */
    static void sameNames(Set<String> found) {
        for (int number = 1; number <= NAMES; number++) {
            holds(found.contains(name(number)), "there is no " + name(number));
        }
        same("number of names", NAMES, found.size());
    }

    /** {@code name-0001-xxx...}, 200 times x. */
    static String name(int number) {
        return String.format("name-%04d-%s", number, "x".repeat(200));
    }

    static InetSocketAddress loopback(String port) {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(port));
    }
}
