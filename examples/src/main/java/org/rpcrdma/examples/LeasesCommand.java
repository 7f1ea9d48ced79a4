// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.examples.common.Shutdown;
import org.rpcrdma.examples.leases.LeaseClient;
import org.rpcrdma.examples.leases.LeaseServer;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** A server that calls its clients back. */
@Command(
        name = "leases",
        description = {
            "Has clients take a lease from each other: the server recalls it from its holder, by a"
                    + " call over the connection that the holder has made.",
            "Server and clients are in this process, on the software RNIC."
        },
        mixinStandardHelpOptions = true)
final class LeasesCommand implements Callable<Integer> {

    private static final String LEASE = "/report.txt";

    @Mixin
    @SuppressWarnings("UnusedVariable") // picocli needs the field
    private Device device;

    @Mixin private Capture capture;

    @Spec private CommandSpec spec;

    @Option(
            names = "--clients",
            defaultValue = "3",
            paramLabel = "COUNT",
            description = "How many clients (default: ${DEFAULT-VALUE}).")
    private int clients;

    @Option(
            names = "--rounds",
            defaultValue = "2",
            paramLabel = "COUNT",
            description = "How often each of them asks (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Override
    public Integer call() throws IOException {
        Check.atLeast(spec, "--clients", clients, 1);
        Check.atLeast(spec, "--rounds", rounds, 1);
        say("device " + Device.inUse());
        RdmaEventLoopGroup loops = new RdmaEventLoopGroup(1);
        List<LeaseClient> open = new ArrayList<>();
        try (LeaseServer server =
                new LeaseServer(
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        capture.applyTo(LeaseServer.config()).build())) {
            try {
                for (int i = 1; i <= clients; i++) {
                    String name = "client " + i;
                    open.add(
                            new LeaseClient(
                                    loops,
                                    server.address(),
                                    name,
                                    lease -> say(name + " gives " + lease + " back")));
                }
                for (int i = 0; i < rounds * clients; i++) {
                    open.get(i % clients).acquire(LEASE);
                    say("client " + (i % clients + 1) + " has " + LEASE);
                }
            } finally {
                open.forEach(LeaseClient::close);
            }
        } finally {
            Shutdown.of(loops);
        }
        return 0;
    }

    private void say(String line) {
        PrintWriter out = spec.commandLine().getOut();
        synchronized (out) {
            out.println(line);
            out.flush();
        }
    }
}
