// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoopGroup;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.benchmarks.ResponderHandler;
import org.rpcrdma.benchmarks.Transport;

/**
 * A process that has just begun: a server, which ends with its standard input, or a client, which makes calls for a
 * while; or one that takes a CPU from them. It writes one line.
 */
final class ColdWorker {

    private static final String BUSY = "BUSY";
    private static final long PATIENCE_SECONDS = 60;

    /** Words after the name of the program, which may have spaces. */
    private static final int USER = 11;

    private static final int SYSTEM = 12;

    private ColdWorker() {}

    /**
     * Arguments of a server: the transport. Of a client: the transport, the server's port, how many calls are kept out,
     * for how many milliseconds. Of one that is busy: {@code BUSY}.
     */
    public static void main(String[] args) {
        int status = 1;
        try {
            run(args);
            status = 0;
        } catch (Exception e) {
            System.err.println("a new process of " + String.join(" ", args) + ": " + e);
        }
        System.exit(status); // event loops would go on
    }

    private static void run(String[] args) throws Exception {
        if (args[0].equals(BUSY)) {
            Thread spinning = new Thread(ColdWorker::spin);
            spinning.setDaemon(true);
            spinning.start();
            System.out.println(BUSY);
            awaitEnd();
            return;
        }
        Transport transport = Transport.valueOf(args[0]);
        EventLoopGroup group = transport.newGroup();
        if (args.length == 1) {
            System.out.println(listen(transport, group));
            awaitEnd();
        } else {
            ColdCaller caller = new ColdCaller(Integer.parseInt(args[2]), Long.parseLong(args[3]));
            Bootstrap bootstrap = transport.client(group, () -> caller);
            bootstrap.connect(transport.fromText(args[1])).sync();
            ColdCaller.Calls calls =
                    caller.done()
                            .get(
                                    Long.parseLong(args[3]) + PATIENCE_SECONDS * 1000,
                                    TimeUnit.MILLISECONDS);
            long began = ManagementFactory.getRuntimeMXBean().getStartTime();
            System.out.println(
                    calls.firstMillis()
                            - began
                            + " "
                            + cpuMillis(calls.firstTimes())
                            + " "
                            + calls.calls()
                            + " "
                            + calls.perInterval());
        }
    }

    private static String listen(Transport transport, EventLoopGroup group) throws Exception {
        return transport.toText(
                transport
                        .server(group, () -> new ResponderHandler(Unpooled.EMPTY_BUFFER))
                        .bind(transport.serverAddress(Path.of("")))
                        .sync()
                        .channel()
                        .localAddress());
    }

    /** Of all threads, in user and system mode: the 14th and 15th word, in steps of 10 ms (proc(5)). */
    private static long cpuMillis(String all) {
        String[] words = all.substring(all.lastIndexOf(')') + 1).strip().split(" ", -1);
        return words.length <= SYSTEM
                ? 0
                : 10 * (Long.parseLong(words[USER]) + Long.parseLong(words[SYSTEM]));
    }

    private static void awaitEnd() throws Exception {
        while (System.in.read() >= 0) {
            // whoever has started this process writes nothing
        }
    }

    private static void spin() {
        for (; ; ) {
            Thread.onSpinWait();
        }
    }
}
