// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.IOException;
import java.io.PrintWriter;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.HdrHistogram.Histogram;
import org.rpcrdma.channel.Rdma;
import org.rpcrdma.examples.verify.DeviceChecks;
import org.rpcrdma.examples.verify.DeviceSpeed;
import org.rpcrdma.examples.verify.PingPong;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.VerbsProvider;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Checks a device by connections of this machine with itself. */
@Command(
        name = "verify-device",
        description = {
            "Checks that a device does what RPC-over-RDMA needs, by connections of this machine"
                + " with itself, and measures it. The report is for people: put it into an issue.",
            "Exit status 0: all checks passed; 1: some failed, or the device cannot be used."
        },
        mixinStandardHelpOptions = true)
final class VerifyDeviceCommand implements Callable<Integer> {

    @Mixin
    @SuppressWarnings("UnusedVariable") // picocli needs the field
    private Device device;

    @Option(
            names = "--host",
            paramLabel = "ADDRESS",
            description = {
                "An address of the device's network interface.",
                "Default: the first of this machine at which the device can listen."
            })
    private InetAddress host;

    @Spec private CommandSpec spec;

    @Override
    public Integer call() throws IOException {
        PrintWriter out = spec.commandLine().getOut();
        Verbosity.expectWarningsOf("org.rpcrdma.verbs"); // what the checks provoke
        return verify(Rdma.provider(), host, out) ? 0 : 1;
    }

    /**
     * Checks, measures and reports.
     *
     * @param address one of the device, or {@code null} to find one
     * @return whether all is well
     */
    static boolean verify(VerbsProvider provider, InetAddress address, PrintWriter out)
            throws IOException {
        InetAddress at = address == null ? find(provider) : address;
        out.printf(
                Locale.ROOT,
                "%s at %s, Java %s, %s %s (%s), %d processors%n",
                provider.name(),
                at.getHostAddress(),
                Runtime.version(),
                System.getProperty("os.name"),
                System.getProperty("os.version"),
                System.getProperty("os.arch"),
                Runtime.getRuntime().availableProcessors());
        try (EventLoopVerbsContext context = provider.open()) {
            DevicesCommand.describe(context, out);
        }
        out.flush();
        Map<DeviceChecks.Outcome, Integer> counts = new EnumMap<>(DeviceChecks.Outcome.class);
        try (DeviceChecks checks = new DeviceChecks(provider, at)) {
            checks.run(
                    (check, outcome, failure) -> {
                        counts.merge(outcome, 1, Integer::sum);
                        out.println(line(check, outcome, failure));
                        out.flush();
                    });
        }
        int failed = counts.getOrDefault(DeviceChecks.Outcome.FAILED, 0);
        if (failed == 0) {
            measure(provider, at, out);
        }
        out.printf(
                Locale.ROOT,
                "%d checks passed, %d failed, %d do not apply%n",
                counts.getOrDefault(DeviceChecks.Outcome.PASSED, 0),
                failed,
                counts.getOrDefault(DeviceChecks.Outcome.DOES_NOT_APPLY, 0));
        out.flush();
        return failed == 0;
    }

    private static String line(String check, DeviceChecks.Outcome outcome, String failure) {
        return switch (outcome) {
            case PASSED -> "ok    " + check;
            case FAILED -> "FAIL  " + check + ": " + failure;
            case DOES_NOT_APPLY -> "-     " + check + ": the device says that it cannot";
        };
    }

    private static void print(String what, PingPong measured, PrintWriter out) {
        Histogram nanos = measured.nanos();
        out.printf(
                Locale.ROOT,
                "%s: median %.1f µs, p99 %.1f µs",
                what,
                nanos.getValueAtPercentile(50) / 1e3,
                nanos.getValueAtPercentile(99) / 1e3);
        if (measured.allocated() >= 0) {
            out.printf(Locale.ROOT, ", %.0f bytes allocated", measured.allocated());
        }
        out.println();
    }

    private static void measure(VerbsProvider provider, InetAddress at, PrintWriter out)
            throws IOException {
        try (DeviceSpeed speed = new DeviceSpeed(provider, at)) {
            print("64 bytes there and back", speed.pingPong(false), out);
            print("the same by a thread that sleeps meanwhile", speed.pingPong(true), out);
            out.printf(
                    Locale.ROOT,
                    "1 MiB at a time: Writes %.0f MB/s, Reads %.0f MB/s%n",
                    speed.writes() / 1e6,
                    speed.reads() / 1e6);
            out.printf(
                    Locale.ROOT,
                    "a poll that finds nothing %.0f ns, a Send posted alone %.0f ns, by sixteen"
                            + " %.0f ns each%n",
                    speed.emptyPoll(),
                    speed.posting(1),
                    speed.posting(16));
        }
    }

    /** An address at which the device listens: a NIC does so at those of its own network interface only. */
    private static InetAddress find(VerbsProvider provider) throws IOException {
        IOException last = null;
        List<InetAddress> candidates =
                NetworkInterface.networkInterfaces()
                        .flatMap(NetworkInterface::inetAddresses)
                        .filter(address -> !address.isLinkLocalAddress())
                        .sorted(
                                Comparator.<InetAddress, Boolean>comparing(
                                                Inet6Address.class::isInstance)
                                        .thenComparing(address -> !address.isLoopbackAddress()))
                        .toList();
        for (InetAddress candidate : candidates) {
            try (DeviceChecks checks = new DeviceChecks(provider, candidate)) {
                return candidate;
            } catch (IOException e) {
                last = e;
            }
        }
        throw new IOException(
                "the device listens at none of " + candidates + "; name one by --host", last);
    }
}
