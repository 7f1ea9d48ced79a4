// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.rpcrdma.channel.Rdma;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.VerbsProvider;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Shows what RDMA can be done with here. */
@Command(
        name = "devices",
        description = {
            "Lists what RDMA can be done with on this machine, the best first: which of them is"
                    + " taken, what each can, and what keeps the others from being used."
        },
        mixinStandardHelpOptions = true)
final class DevicesCommand implements Callable<Integer> {

    @Mixin
    @SuppressWarnings("UnusedVariable") // picocli needs the field
    private Verbosity verbosity;

    @Spec private CommandSpec spec;

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        VerbsProvider taken = Rdma.provider();
        for (VerbsProvider provider : Rdma.providers()) {
            if (!provider.isAvailable()) {
                out.println(
                        provider.name() + ": no, " + provider.unavailabilityCause().getMessage());
                continue;
            }
            out.println(
                    provider.name()
                            + (provider == taken
                                    ? ": taken"
                                    : ": available, taken with --device " + provider.name()));
            try (EventLoopVerbsContext context = provider.open()) {
                describe(context, out);
            } catch (IOException e) {
                out.println("    cannot be opened: " + FailureText.of(e));
            }
        }
        out.flush();
        return 0;
    }

    static void describe(EventLoopVerbsContext context, PrintWriter out) {
        DeviceCapabilities can = context.capabilities();
        out.println("    " + context);
        out.println(
                "    memory ranges: "
                        + can.maxScatterGather()
                        + " in a work request, "
                        + can.maxReadRanges()
                        + " in an RDMA Read; Reads outstanding: "
                        + can.maxReadDepth()
                        + "; private data: "
                        + can.maxPrivateData()
                        + " bytes");
        List<String> able = new ArrayList<>();
        List<String> unable = new ArrayList<>();
        sort("private data on accept", can.privateDataOnAccept(), able, unable);
        sort("exact exposure", can.exactExposure(), able, unable);
        sort("cheap registration", can.cheapRegistration(), able, unable);
        sort("Send with Invalidate", can.sendWithInvalidate(), able, unable);
        sort("invalidation by the peer", can.remoteInvalidation(), able, unable);
        sort("rejection with data", can.rejectWithData(), able, unable);
        sort("RDMA Write with Immediate", can.writesWithImmediate(), able, unable);
        sort("cause of a disconnect", can.disconnectCause(), able, unable);
        sort("a key for each connection", can.keyPerConnection(), able, unable);
        sort("IPv6", can.ipv6(), able, unable);
        out.println("    can: " + String.join(", ", able));
        if (!unable.isEmpty()) {
            out.println("    cannot: " + String.join(", ", unable));
        }
    }

    private static void sort(String what, boolean can, List<String> able, List<String> unable) {
        (can ? able : unable).add(what);
    }
}
