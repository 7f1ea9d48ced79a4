// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.netty.util.concurrent.DefaultPromise;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.concurrent.Promise;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import org.rpcrdma.channel.admission.AddressAllowList;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.examples.common.ReliableReplies;
import org.rpcrdma.examples.common.Shutdown;
import org.rpcrdma.examples.export.Export;
import org.rpcrdma.examples.server.Admission;
import org.rpcrdma.examples.server.MetricsServer;
import org.rpcrdma.examples.server.NfsServer;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Serves a directory until it is told to end. */
@Command(
        name = "serve-nfs",
        description = {
            "Serves a local directory as NFSv3 over RDMA, and over TCP.",
            "The export is called '/'. The server acts with the rights of its own user; as root it"
                    + " checks owners and modes, for whom a client says is calling (AUTH_SYS).",
            "Changes of names and attributes are answered before they are on disk (async), file"
                    + " systems mounted below are served too; docs/cli.md has all limits."
        },
        mixinStandardHelpOptions = true)
final class ServeNfsCommand implements Callable<Integer> {

    /** Bounds of the buckets for times: from what a fast network takes to what somebody notices. */
    private static final Duration[] BUCKETS = {
        Duration.ofNanos(50_000),
        Duration.ofNanos(200_000),
        Duration.ofMillis(1),
        Duration.ofMillis(5),
        Duration.ofMillis(20),
        Duration.ofMillis(100),
        Duration.ofSeconds(1)
    };

    @Mixin private ConnectionOptions connectionOptions;

    @Spec private CommandSpec spec;

    @Option(
            names = "--export",
            required = true,
            paramLabel = "DIR",
            description = "The directory to serve.")
    private Path directory;

    @Option(
            names = "--host",
            defaultValue = "127.0.0.1",
            paramLabel = "HOST",
            description = "The address to listen on (default: ${DEFAULT-VALUE}).")
    private String host;

    @Option(
            names = "--port",
            defaultValue = "20049",
            paramLabel = "PORT",
            description = "NFS over RDMA (default: ${DEFAULT-VALUE}).")
    private int port;

    @Option(
            names = "--mount-port",
            defaultValue = "20048",
            paramLabel = "PORT",
            description = "MOUNT over TCP (default: ${DEFAULT-VALUE}).")
    private int mountPort;

    @Option(
            names = "--tcp-port",
            paramLabel = "PORT",
            description = "NFS over TCP (default: that of RDMA plus 1).")
    private Integer tcpPort;

    @Option(names = "--read-only", description = "Let nobody change anything.")
    private boolean readOnly;

    @Option(
            names = "--no-root-squash",
            description = {
                "Of a server that root runs: let clients act as root too.",
                "Without it their root is nobody (uid 65534)."
            })
    private boolean trustsRoot;

    @Option(
            names = "--reliable-replies",
            description = {
                "Let clients read long replies from the server's memory.",
                "Only for clients that are told so too, like 'nfs --reliable-replies'."
            })
    private boolean reliableReplies;

    @Option(
            names = "--metrics-port",
            paramLabel = "PORT",
            description = "Meters for Prometheus, at http://HOST:PORT/metrics (default: none).")
    private Integer metricsPort;

    @Option(
            names = "--allow",
            split = ",",
            paramLabel = "CIDR",
            description = {
                "Who may connect, over RDMA and TCP: addresses and ranges, such as",
                "192.0.2.0/24,2001:db8::/32 (default: anybody)."
            })
    private List<String> allowed = List.of();

    @Option(
            names = "--max-connections",
            defaultValue = "" + Admission.CONNECTIONS,
            paramLabel = "COUNT",
            description = "Most connections, over RDMA and over TCP (default: ${DEFAULT-VALUE}).")
    private int connections;

    @Option(
            names = "--max-connections-per-address",
            defaultValue = "" + Admission.CONNECTIONS_OF_ADDRESS,
            paramLabel = "COUNT",
            description = "Most of one address, likewise (default: ${DEFAULT-VALUE}).")
    private int addressConnections;

    @Override
    public Integer call() throws IOException {
        if (tcpPort == null) {
            tcpPort = port == 0 ? 0 : port + 1;
        }
        Check.port(spec, "--port", port);
        Check.port(spec, "--mount-port", mountPort);
        Check.port(spec, "--tcp-port", tcpPort);
        if ((port != 0 && (port == tcpPort || port == mountPort))
                || (mountPort != 0 && mountPort == tcpPort)) {
            throw new ParameterException(
                    spec.commandLine(), "--port, --mount-port and --tcp-port have to be different");
        }
        if (metricsPort != null) {
            Check.port(spec, "--metrics-port", metricsPort);
        }
        Admission admission = admission();
        if (!Files.exists(directory)) {
            throw new NoSuchFileException(directory.toString());
        }
        if (!Files.isDirectory(directory)) {
            throw new NotDirectoryException(directory.toString());
        }
        InetAddress address = InetAddress.getByName(host);
        Promise<Void> end = new DefaultPromise<>(GlobalEventExecutor.INSTANCE);
        Promise<Void> ended = new DefaultPromise<>(GlobalEventExecutor.INSTANCE);
        try (Export export = new Export(directory, readOnly, StateDirectory.file("handle.key"));
                NfsServer server =
                        new NfsServer(
                                export,
                                reliableReplies ? ReliableReplies.RESULTS_MAX : 0,
                                !trustsRoot,
                                admission)) {
            InetSocketAddress mount =
                    server.serveMountOverTcp(new InetSocketAddress(address, mountPort));
            InetSocketAddress tcp = server.serveNfsOverTcp(new InetSocketAddress(address, tcpPort));
            InetSocketAddress rdma =
                    server.serveNfsOverRdma(new InetSocketAddress(address, port), rdmaConfig());
            print("listening on " + text(rdma) + " for NFS over RDMA, on " + Device.inUse());
            print("listening on " + text(mount) + " for MOUNT over TCP");
            print("listening on " + text(tcp) + " for NFS over TCP");
            Runtime.getRuntime().addShutdownHook(new Thread(() -> endAndWait(end, ended), "end"));
            if (metricsPort == null) {
                end.awaitUninterruptibly();
            } else {
                showMeters(new InetSocketAddress(address, metricsPort), server, end);
            }
        } finally {
            ended.trySuccess(null);
        }
        return 0;
    }

    private Admission admission() {
        Check.atLeast(spec, "--max-connections", connections, 1);
        Check.atLeast(spec, "--max-connections-per-address", addressConnections, 1);
        try {
            AddressAllowList list = allowed.isEmpty() ? null : AddressAllowList.of(allowed);
            return new Admission(list, connections, addressConnections);
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), "--allow: " + e.getMessage(), e);
        }
    }

    private void showMeters(InetSocketAddress address, NfsServer server, Promise<Void> end)
            throws IOException {
        PrometheusMeterRegistry meters = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        server.bindTo(meters, BUCKETS);
        try (MetricsServer http = new MetricsServer(address, meters)) {
            print("listening on " + text(http.address()) + " for GET /metrics");
            end.awaitUninterruptibly();
        }
    }

    private RpcRdmaConfig rdmaConfig() throws IOException {
        RpcRdmaConfig.Builder config = connectionOptions.applyTo(RpcRdmaConfig.builder());
        return (reliableReplies ? ReliableReplies.enable(config) : config).build();
    }

    private void print(String line) {
        spec.commandLine().getOut().println(line);
        spec.commandLine().getOut().flush();
    }

    private static String text(InetSocketAddress address) {
        return address.getAddress().getHostAddress() + ":" + address.getPort();
    }

    /** Runs when the process is told to end, and holds that up until the sockets are closed. */
    private static void endAndWait(Promise<Void> end, Promise<Void> ended) {
        end.trySuccess(null);
        Shutdown.await(ended);
    }
}
