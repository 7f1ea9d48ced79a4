// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.IOException;
import java.net.InetSocketAddress;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.examples.client.NfsSession;
import org.rpcrdma.examples.common.ReliableReplies;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** What the {@code nfs} commands have in common: NFS over RDMA, MOUNT over TCP, and the option that goes with it. */
final class NfsConnection {

    @Spec(Spec.Target.MIXEE)
    private CommandSpec spec;

    @Mixin private ConnectionOptions connectionOptions;

    @Mixin private ConnectTimeout connectTimeout;

    @Option(
            names = "--mount-port",
            defaultValue = "20048",
            paramLabel = "PORT",
            description = "The server's port for MOUNT over TCP (default: ${DEFAULT-VALUE}).")
    private int mountPort;

    @Option(
            names = "--reliable-replies",
            description = {
                "Read long replies from the server's memory, a directory in one reply.",
                "Only for servers that are told so too, like 'serve-nfs --reliable-replies'."
            })
    private boolean reliableReplies;

    /** What is done with a session. */
    interface Work {
        void run(NfsSession session) throws IOException;
    }

    void run(NfsUrl url, Work work) throws IOException {
        Check.port(spec, "--mount-port", mountPort);
        InetSocketAddress mount = new InetSocketAddress(url.server().getHostString(), mountPort);
        try (NfsSession session =
                NfsSession.open(
                        url.server(),
                        config(),
                        mount,
                        LocalUser.credential(),
                        connectTimeout.checked())) {
            if (reliableReplies) {
                session.nfs().directoryBytes(ReliableReplies.RESULTS_MAX);
            }
            work.run(session);
        }
    }

    /** Shows a line on standard output, with the device behind it. */
    void print(String line) {
        spec.commandLine().getOut().println(line + " (" + Device.inUse() + ")");
        spec.commandLine().getOut().flush();
    }

    private RpcRdmaConfig config() throws IOException {
        RpcRdmaConfig.Builder config = connectionOptions.applyTo(RpcRdmaConfig.builder());
        return (reliableReplies ? ReliableReplies.enable(config) : config).build();
    }
}
