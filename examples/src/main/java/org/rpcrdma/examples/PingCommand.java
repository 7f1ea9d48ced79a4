// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.HdrHistogram.Histogram;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.rpc.XdrDecoder;
import org.rpcrdma.codec.rpc.XdrEncodable;
import org.rpcrdma.examples.common.RpcConnection;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Asks a server whether it is there. */
@Command(
        name = "ping",
        description =
                "Calls the NULL procedure of a server over RDMA, and shows what the two sides"
                        + " agreed on.")
final class PingCommand implements Callable<Integer> {

    private static final int NULL = 0;

    /** Numbers go on the wire as 32 bits without a sign. */
    private static final long UNSIGNED_MAX = 0xffff_ffffL;

    /** A first call that gets no answer is sent again on other connections; this is for all of them. */
    private static final int LEAST_FIRST_SECONDS = 15;

    private static final long HIGHEST_NANOS = 60_000_000_000L;

    @Mixin private ConnectionOptions connectionOptions;

    @Mixin private ConnectTimeout connectTimeout;

    // The standard options, but for the long name of one, which is the program's version here.
    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Show this help message and exit.")
    @SuppressWarnings("UnusedVariable") // picocli needs the field
    private boolean help;

    @Option(names = "-V", versionHelp = true, description = "Print version information and exit.")
    @SuppressWarnings("UnusedVariable") // picocli needs the field
    private boolean versionHelp;

    @Spec private CommandSpec spec;

    @Parameters(
            paramLabel = "HOST:PORT",
            converter = ServerAddress.class,
            description = "The server.")
    private InetSocketAddress server;

    @Option(
            names = "--program",
            defaultValue = "100003",
            paramLabel = "NUMBER",
            description = "The RPC program (default: ${DEFAULT-VALUE}, NFS).")
    private long program;

    @Option(
            names = "--version",
            defaultValue = "3",
            paramLabel = "NUMBER",
            description = "The version of the program (default: ${DEFAULT-VALUE}).")
    private long version;

    @Option(
            names = {"-c", "--count"},
            defaultValue = "10",
            paramLabel = "COUNT",
            description = "How many calls, one after the other (default: ${DEFAULT-VALUE}).")
    private int count;

    @Option(
            names = "--timeout",
            defaultValue = "2",
            paramLabel = "SECONDS",
            description =
                    "How long a call may take (default: ${DEFAULT-VALUE}); the first one has at"
                            + " least 15.")
    private int timeout;

    @Override
    public Integer call() throws IOException {
        Check.atLeast(spec, "--count", count, 1);
        Check.atLeast(spec, "--timeout", timeout, 1);
        Check.range(spec, "--program", program, 0, UNSIGNED_MAX);
        Check.range(spec, "--version", version, 0, UNSIGNED_MAX);
        RpcRdmaConfig config = connectionOptions.applyTo(RpcRdmaConfig.builder()).build();
        try (RpcConnection client = RpcConnection.rdma(server, config, connectTimeout.checked())) {
            callNull(client, Duration.ofSeconds(Math.max(timeout, LEAST_FIRST_SECONDS)));
            Histogram latency = new Histogram(HIGHEST_NANOS, 3);
            for (int i = 0; i < count; i++) {
                long start = System.nanoTime();
                callNull(client, Duration.ofSeconds(timeout));
                latency.recordValue(Math.min(System.nanoTime() - start, HIGHEST_NANOS));
            }
            print(spec.commandLine().getOut(), client, config, latency);
        }
        return 0;
    }

    private void callNull(RpcConnection client, Duration limit) throws IOException {
        client.await(
                client.client((int) program, (int) version, limit)
                        .call(NULL, XdrEncodable.VOID, XdrDecoder.VOID),
                limit);
    }

    private void print(
            PrintWriter out, RpcConnection client, RpcRdmaConfig config, Histogram latency)
            throws IOException {
        RpcRdmaConnection connection = client.negotiated();
        row(out, "server", server.getHostString() + ":" + server.getPort());
        row(out, "device", Device.inUse() + (client.isShared() ? ", by shared memory" : ""));
        row(out, "program", program + " version " + version);
        row(out, "RPC-over-RDMA", "version " + connection.version());
        row(out, "inline to server", connection.sendThreshold() + " bytes");
        row(out, "inline from server", connection.receiveThreshold() + " bytes");
        long granted = connection.creditsGranted();
        row(out, "credits", granted + " granted, " + config.requestedCredits() + " asked for");
        String here = offer(connection.announced().remoteInvalidation());
        String there = offer(connection.peer().remoteInvalidation());
        row(out, "remote invalidation", here + " here, " + there + " by the server");
        row(
                out,
                latency.getTotalCount() + " calls",
                String.format(
                        Locale.ROOT,
                        "p50 %.1f µs, p99 %.1f µs, max %.1f µs",
                        latency.getValueAtPercentile(50) / 1e3,
                        latency.getValueAtPercentile(99) / 1e3,
                        latency.getMaxValue() / 1e3));
        out.flush();
    }

    private static String offer(boolean isOffered) {
        return isOffered ? "offered" : "not offered";
    }

    private static void row(PrintWriter out, String name, String value) {
        out.printf(Locale.ROOT, "%-20s%s%n", name, value);
    }
}
